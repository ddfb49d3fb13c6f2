#!/bin/sh
# Everyday work in an empty directory, the same each time: tests/suite/guard
# compares what it leaves with and without the guard.
set -u
say() { echo "$* $?"; }
export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='2001-01-01T00:00:00Z' \
	GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
	GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_TEMPLATE_DIR='' TZ=UTC
umask 022

mkdir src && cd src || exit 1
i=0
while [ $i -lt 40 ]; do
	mkdir -p "d$((i % 7))/e$((i % 3))"
	printf 'int f%d(void) { return %d; }\n' $i $i >"d$((i % 7))/e$((i % 3))/f$i.c"
	i=$((i + 1))
done
printf 'int main(void) { return 0; }\n' >main.c
# shellcheck disable=SC2016 # for make to expand
printf 'all:\n\t@for f in d*/e*/*.c; do cp $$f $$f.o || exit 1; done\n' >Makefile
ln -s main.c link.c
chmod 755 Makefile
find . -exec touch -h -d '2001-01-01T00:00:00Z' {} +
cd .. || exit 1

git init -q -b main src; say git init
(cd src && git add -A && git commit -q -m one); say git commit
(cd src && git branch other && echo x >>main.c && git commit -q -am two); say git commit again
(cd src && git checkout -q other && git merge -q main); say git merge
(cd src && echo y >>main.c && git stash -q && git stash pop -q); say git stash
(cd src && git tag -a -m tag v1 && git gc -q && git fsck --no-progress >/dev/null 2>&1); say git gc
git clone -q src clone; say git clone
git clone -q --no-local src clone2; say git clone over a pipe

tar -C src --exclude=.git --mtime=@1000000000 --sort=name -cf all.tar .; say tar c
mkdir out && tar -C out -xf all.tar; say tar x
cp -a out copy; say cp -a
cp -al out links; say cp -al
mv copy moved; say mv
make -s -C out -j4; say make
sed -i 's/0/1/' out/main.c; say sed -i
install -m 4750 out/main.c installed; say install
(set -C; echo a >noclobber && ! echo b 2>/dev/null >noclobber); say noclobber
(umask 077; echo a >private; mkdir private.d); say umask
mkfifo pipe; (cat pipe >from-pipe & echo through >pipe; wait); say fifo
echo gone >/dev/null; say /dev/null
echo text | tee /dev/stderr 2>tee.err >tee.out; say tee
mktemp -d tmp.XXXXXX >/dev/null; say mktemp; rm -rf tmp.*
mkdir gone; rmdir gone; say rmdir
ln -s nowhere dangling; echo over >dangling; say dangling

if command -v gcc >/dev/null; then
	(cd out && for f in d0/e0/*.c main.c; do gcc -c -o "$f.obj" "$f" || exit 1; done)
	say gcc
	rm -f out/*.obj out/*/*/*.obj
fi
if [ -x /usr/bin/python3 ]; then
	/usr/bin/python3 -m venv --without-pip venv; say venv
	rm -rf venv/lib64
	/usr/bin/python3 - <<'PY'
import multiprocessing, os, socket, tempfile
with tempfile.NamedTemporaryFile(dir=".") as f:
    f.write(b"x")
s = socket.socket(socket.AF_UNIX)
s.bind("py.sock")
s.listen(1)
c = socket.socket(socket.AF_UNIX)
c.connect("py.sock")
t = socket.socket()
t.bind(("127.0.0.1", 0))
def work(i):
    with open(f"py.{i}", "x") as f:
        f.write(str(i))
    return i
with multiprocessing.Pool(4) as p:
    print(sum(p.map(work, range(50))))
os.makedirs("py/a/b", exist_ok=True)
os.replace("py.1", "py/a/b/one")
PY
	say python
fi
if command -v sqlite3 >/dev/null; then
	sqlite3 db 'pragma journal_mode=wal; create table t(x);' >/dev/null; say sqlite
	for i in 1 2 3 4; do
		sqlite3 -cmd '.timeout 20000' db "insert into t values($i);" &
	done
	wait
	sqlite3 db 'select count(*) from t;'
	rm -f db-wal db-shm
fi
if command -v node >/dev/null; then
	node -e '
const fs = require("fs");
fs.mkdirSync("node/a/b", { recursive: true });
fs.writeFileSync("node/a/b/c", "text", { flag: "wx" });
fs.renameSync("node/a/b/c", "node/a/d");
fs.symlinkSync("later", "node/link");
fs.appendFileSync("node/link", "more");
try { fs.writeFileSync("node/a/d", "", { flag: "wx" }); } catch (e) { console.log(e.code); }
fs.cpSync("node/a", "node/copy", { recursive: true });
'
	say node
fi
