#!/usr/bin/env bash
# program.sh NAME: starts a program that many people run, lets it do I/O, and ends with status 0 if it did what it should. To be run bare and
# under the library by compare.py. A program that will not run as root is run as the user named by FOREIGN_USER.
set -euo pipefail
name=${1:?a program of this file}
here=$(mktemp -d "${TMPDIR:-/tmp}/program-XXXXXX")
chmod 755 "$here"
trap 'rm -rf "$here"' EXIT
cd "$here"

as_user() {
    local user=${FOREIGN_USER:-nobody}
    chown "$user" "$here"
    setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env HOME="$here" "$@"
}

case $name in
redis)
    redis-server --port 0 --unixsocket "$here/socket" --dir "$here" --appendonly yes --daemonize no > server.log 2>&1 &
    server=$!
    for _ in $(seq 300); do redis-cli -s socket ping > /dev/null 2>&1 && break; sleep 0.1; done
    redis-benchmark -s socket -q -n 2000 -c 10 -t set,get,lpush > /dev/null
    redis-cli -s socket set key value > /dev/null
    redis-cli -s socket bgrewriteaof > /dev/null
    [ "$(redis-cli -s socket get key)" = value ]
    redis-cli -s socket shutdown save
    wait "$server"
    [ -s dump.rdb ]
    ;;
postgres)
    bin=$(echo /usr/lib/postgresql/*/bin)
    as_user "$bin/initdb" -D "$here/data" > /dev/null
    as_user "$bin/pg_ctl" -D "$here/data" -w -o "-k $here -c listen_addresses=" -l "$here/log" start > /dev/null
    as_user "$bin/createdb" -h "$here" bench
    as_user "$bin/pgbench" -h "$here" -q -i -s 2 bench > /dev/null 2>&1
    as_user "$bin/pgbench" -h "$here" -c 4 -t 50 bench > /dev/null 2>&1
    [ "$(as_user psql -h "$here" -At -c 'select count(*) from pgbench_history' bench)" = 200 ]
    as_user "$bin/pg_ctl" -D "$here/data" -w -m fast stop > /dev/null
    ;;
java)
    cat > Main.java << 'JAVA'
import java.nio.file.*;
import java.util.stream.*;
class Main {
    public static void main(String[] arguments) throws Exception {
        Path file = Path.of("numbers");
        Files.write(file, IntStream.range(0, 200000).mapToObj(Integer::toString).collect(Collectors.toList()));
        try (var channel = java.nio.channels.FileChannel.open(file)) {
            channel.map(java.nio.channels.FileChannel.MapMode.READ_ONLY, 0, channel.size()).load();
        }
        long sum = Files.lines(file).parallel().mapToLong(Long::parseLong).sum();
        if (new ProcessBuilder("true").start().waitFor() != 0 || sum != 19999900000L) System.exit(1);
    }
}
JAVA
    java Main.java
    ;;
node)
    node -e '
const fs = require("fs"), { spawnSync } = require("child_process"), { Worker } = require("worker_threads");
fs.writeFileSync("a", Buffer.alloc(1 << 20, 7));
const out = fs.createWriteStream("b");
fs.createReadStream("a").pipe(out).on("finish", () => {
  if (Buffer.compare(fs.readFileSync("a"), fs.readFileSync("b")) || spawnSync("true").status !== 0) process.exit(1);
  new Worker("require(\"fs\").writeFileSync(\"c\", \"x\")", { eval: true }).on("exit", () => process.exit(fs.readFileSync("c", "utf8") === "x" ? 0 : 1));
});'
    ;;
go)
    cat > main.go << 'GO'
package main

// #include <stdio.h>
// static int say(const char *path) { FILE *f = fopen(path, "w"); return f == NULL || fputs("from C\n", f) < 0 || fclose(f) != 0; }
import "C"
import "os"

func main() {
	if C.say(C.CString("c")) != 0 || os.WriteFile("go", []byte("from Go\n"), 0644) != nil {
		os.Exit(1)
	}
	said, _ := os.ReadFile("c")
	if string(said) != "from C\n" {
		os.Exit(1)
	}
}
GO
    HOME=$here GOCACHE=$here/cache GOFLAGS=-mod=mod go run main.go
    ;;
cargo)
    cargo new --quiet --vcs none made 2> /dev/null
    cd made
    echo 'fn main() { std::fs::write("x", "y").unwrap(); assert_eq!(std::fs::read_to_string("x").unwrap(), "y"); }' > src/main.rs
    CARGO_TARGET_DIR=$here/target cargo run --quiet --offline
    ;;
chromium)
    as_user chromium --headless --disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$here/profile" --screenshot="$here/page.png" 'data:text/html,<h1>one page</h1>' > log 2>&1
    [ -s page.png ]
    ;;
firefox)
    as_user timeout 100 firefox-esr --headless --no-remote --profile "$(as_user mktemp -d "$here/profile-XXXX")" \
        --screenshot "$here/page.png" 'data:text/html,<h1>one page</h1>' > log 2>&1
    [ -s page.png ]
    ;;
dask)
    cat > main.py << 'PYTHON'
import numpy, dask.array as array
from dask.distributed import Client, LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster) as client:
        numpy.save("x.npy", numpy.arange(1 << 20))
        loaded = array.from_array(numpy.load("x.npy", mmap_mode="r"), chunks=1 << 17)
        assert int(loaded.sum().compute()) == sum(range(1 << 20))
PYTHON
    "${FOREIGN_PYTHON:-python3}" main.py 2> log || { cat log >&2; exit 1; }
    ;;
*) echo "program.sh: $name: no such program here" >&2; exit 2 ;;
esac
