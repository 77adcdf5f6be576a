# A samba server with two shares of one directory: c1 calls it by its name, c2 and c3 by its address.
modprobe cifs
mkdir -p /run/samba /var/log/samba
cat > /tmp/smb.conf << END
[global]
    server role = standalone server
    map to guest = Bad User
    guest account = root
    min protocol = SMB3
    disable netbios = yes
    load printers = no
    use sendfile = yes
[scratch]
    path = /export/scratch
    guest ok = yes
    read only = no
[all]
    path = /export
    guest ok = yes
    read only = no
END
smbd --configfile=/tmp/smb.conf --daemon
sleep 5
mounted() { on "$1" mount -t cifs "//$2/$3" "/$4" -o guest,vers=3.1.1,ip=10.9.0.1; }
mounted 1 files.site scratch n
mounted 2 10.9.0.1 scratch n
mounted 3 10.9.0.1 scratch n
mounted 3 10.9.0.1 all h

sampled
collected 1 alone 100
sleep 3
beside bare 2 stranger 120
profiled 1 victim 100
over
beside profiled 3 other 100
collected 1 victim-of-other 100
over
(sleep 4; bare 3 innocent 1) &
profiled 1 victim-of-nobody 100
wait $!
sampled_no_more
