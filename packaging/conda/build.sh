#!/bin/sh
# What conda-build runs in its copy of the clone, with PREFIX, PYTHON and SP_DIR (the environment's site-packages) set. Library and
# collector lie in the Python package, as in a wheel of `make dist`: there the command looks for them first.
set -eu
export ZSTD_ARCHIVE="${ZSTD_ARCHIVE:-$PREFIX/lib/libzstd.a}" CPATH="$PREFIX/include${CPATH:+:$CPATH}"
build=build/conda # of its own: a copied clone may have another Python in build/venv
make -j"${CPU_COUNT:-1}" native BUILD="$build" MPICC= # no MPI compiler that happens to be in the PATH
# make/wheel packs with the Python that it finds there. What lies there may be a link, and is not written through.
mkdir -p "$build/venv/bin"
rm -f "$build/venv/bin/python"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$PYTHON" > "$build/venv/bin/python"
chmod +x "$build/venv/bin/python"
make/wheel "$build"
"$PYTHON" -m pip install --no-deps --no-build-isolation --no-index "$build"/wheel/*.whl
make install-native BUILD="$build" PREFIX="$SP_DIR/slicewise/native" MANDIR="$PREFIX/share/man" MPICC=
