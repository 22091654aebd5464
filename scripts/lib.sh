# shellcheck shell=bash
# Shared by the scripts of this directory: what they need is installed here,
# the extension is built and installed, a scratch server is started and stopped.
#
# PG_CONFIG chooses the PostgreSQL to build for and to run; without it the
# newest server under /usr/lib/postgresql is taken.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Programs are looked for there, whatever cargo's configuration says.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}

say() {
    if [[ -t 1 ]]; then
        printf '\033[1m==> %s\033[0m\n' "$*"
    else
        printf '==> %s\n' "$*"
    fi
}
note() { printf '    %s\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root: $* (run the script as root, or install sudo)"
    fi
}

# With it, pgrx adds a stack to the DETAIL of every error that PostgreSQL raises.
unset RUST_BACKTRACE

# PostgreSQL refuses to run as root. Whoever is not root runs it as themselves.
as_postgres() {
    if [[ $EUID -eq 0 ]]; then
        (cd / && runuser -u postgres -- "$@")
    else
        (cd / && "$@")
    fi
}

# Runs a command of Rust's tool chain. Under sudo that is the tool chain of
# whoever called sudo, so that root need not have one and target/ stays theirs.
as_builder() {
    if [[ $EUID -eq 0 && -n ${SUDO_USER:-} && $SUDO_USER != root ]]; then
        local home
        home=$(getent passwd "$SUDO_USER" | cut -d: -f6)
        if [[ -x $home/.cargo/bin/cargo ]]; then
            runuser -u "$SUDO_USER" -- env HOME="$home" PATH="$home/.cargo/bin:$PATH" "$@"
            return
        fi
    fi
    PATH="$HOME/.cargo/bin:$PATH" "$@"
}

# What the build needs besides Rust and PostgreSQL.
# From Debian 13 on the headers of PostgreSQL do not bring those of ICU.
compilers=(build-essential clang libclang-dev libicu-dev pkg-config)

# need_packages NAME…: installs the Debian packages that are missing.
package_lists_read=
need_packages() {
    command -v dpkg-query >/dev/null || die "packages are installed by apt; on this system, install by hand: $*"
    local name missing=()
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed' || missing+=("$name")
    done
    [[ ${#missing[@]} -eq 0 ]] && return
    say "Installing packages: ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { { [[ -n $package_lists_read ]] || as_root apt-get update -q; } &&
        as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
    package_lists_read=yes
}

# need_known_packages NAME…: the same for those that the package lists know; the others stay away.
need_known_packages() {
    local name known=()
    command -v apt-cache >/dev/null || return 0
    for name in "$@"; do
        [[ -z $(apt-cache -q=2 show "$name" 2>/dev/null) ]] || known+=("$name")
    done
    [[ ${#known[@]} -eq 0 ]] || need_packages "${known[@]}"
}

newest_pg_config() {
    local version
    for version in 19 18 17 16 15; do
        local bin=/usr/lib/postgresql/$version/bin
        if [[ -x $bin/postgres && -x $bin/pg_config ]]; then
            printf '%s\n' "$bin/pg_config"
            return
        fi
    done
    return 1
}

# Sets PG_CONFIG, pg_version (15, …) and pg_bin, installing a PostgreSQL and
# its headers if there is none.
find_pg_config() {
    if [[ -z ${PG_CONFIG:-} ]]; then
        newest_pg_config >/dev/null || need_packages postgresql "${compilers[@]}"
        PG_CONFIG=$(newest_pg_config) ||
            die "no PostgreSQL 15 to 19 found; install one (https://wiki.postgresql.org/wiki/Apt) or set PG_CONFIG"
    fi
    [[ -x $PG_CONFIG ]] || die "PG_CONFIG is $PG_CONFIG, which cannot be run"
    export PG_CONFIG
    pg_version=$("$PG_CONFIG" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
    pg_bin=$("$PG_CONFIG" --bindir)
    case $pg_version in
    15 | 16 | 17 | 18 | 19) ;;
    *) die "$PG_CONFIG is of $("$PG_CONFIG" --version); pg_dedup supports 15 to 19" ;;
    esac
    if [[ ! -f $("$PG_CONFIG" --includedir-server)/postgres.h ]]; then
        [[ $pg_bin == /usr/lib/postgresql/* ]] || die "the server headers of $PG_CONFIG are not installed"
        need_packages "postgresql-server-dev-$pg_version"
    fi
}

# For a chroot of ARM64 on x86_64, whose programs qemu runs: all but the compilers, which are this processor's. Only sid has a
# Rust that is new enough and whose standard library comes for both.
# shellcheck disable=SC2034
cross=(CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu RUSTC=/opt/amd64/usr/bin/rustc RUSTDOC=/opt/amd64/usr/bin/rustdoc
    TARGET_CC=aarch64-linux-gnu-clang CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-clang
    HOST_CC=x86_64-linux-gnu-clang CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=x86_64-linux-gnu-clang
    LIBCLANG_PATH=/opt/amd64/usr/lib/x86_64-linux-gnu LD_LIBRARY_PATH=/opt/amd64/usr/lib/x86_64-linux-gnu)

need_qemu() {
    [[ $(uname -m) == x86_64 ]] || die "ARM64 is emulated on x86_64 only"
    need_packages binfmt-support qemu-user-static
    grep -qsx enabled /proc/sys/fs/binfmt_misc/qemu-aarch64 || die "the kernel does not hand programs of ARM64 to qemu: see binfmt_misc"
}

# Within the chroot.
install_cross_compilers() {
    local gcc clang
    dpkg --add-architecture amd64
    need_packages "${compilers[@]}"
    gcc=$(gcc -dumpversion) clang=$(clang -dumpversion)
    gcc=${gcc%%.*} clang=${clang%%.*}
    need_packages {binutils-x86-64-linux-gnu,libc6-dev,"libgcc-$gcc-dev","libllvm$clang"}:amd64 libstd-rust-dev:{amd64,arm64}
    # Packages that exclude those of ARM64.
    mkdir -p /opt/amd64
    (cd /opt/amd64 && apt-get download -q {rustc,"clang-$clang","libclang1-$clang","libclang-cpp$clang"}:amd64 &&
        find . -name '*.deb' -exec dpkg -x {} . \; -delete) >/dev/null || die "apt-get could not download the compilers"
    ln -s "/usr/lib/llvm-$clang/lib/clang" "/opt/amd64/usr/lib/llvm-$clang/lib/"
    # rustdoc asks for it here.
    ln -sf /opt/amd64/usr/bin/rustc /usr/bin/rustc
    # By its name it knows what for.
    ln -s "/opt/amd64/usr/lib/llvm-$clang/bin/clang" /usr/local/bin/aarch64-linux-gnu-clang
    ln -s "/opt/amd64/usr/lib/llvm-$clang/bin/clang" /usr/local/bin/x86_64-linux-gnu-clang
}

find_rust() {
    local wanted found
    [[ ${RUSTC:-} != /opt/amd64/* || -x $RUSTC ]] || install_cross_compilers
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
    found=$(as_builder "${RUSTC:-rustc}" --version 2>/dev/null | awk '{print $2}') || found=''
    [[ -n $found ]] || die "no Rust found; install it from https://rustup.rs, or a package of $wanted or later"
    [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) == "$wanted" ]] ||
        die "Rust $found is too old, $wanted is needed (of rustup: rustup update stable)"
}

# Compilers: Rust must be there, the rest is installed.
find_compilers() {
    find_rust
    need_packages "${compilers[@]}"
}

# run_shown LOG COMMAND…: runs a build, showing which crate it is at; all of
# its output if it fails.
run_shown() {
    local log=$1
    shift
    if ! "$@" 2>&1 | tee "$log" | { grep -E --line-buffered '^ +(Compiling|Downloading|Blocking)' || true; }; then
        tail -n 60 "$log" >&2
        die "failed: $*"
    fi
}

# install_extension [PROGRAM…]: builds the extension and installs it into PG_CONFIG's server; builds the programs too.
install_extension() {
    local log privilege=(as_root)
    say "Building pg_dedup for PostgreSQL $pg_version"
    [[ -d $CARGO_TARGET_DIR/${BUILD_PROFILE:-release} ]] || note "the first time this takes some minutes"
    log=$(mktemp)
    run_shown "$log" as_builder make -C "$root" PG_CONFIG="$PG_CONFIG" PROGRAMS="$*" ${1:+programs} all
    say "Installing into $("$PG_CONFIG" --pkglibdir) and $("$PG_CONFIG" --sharedir)/extension"
    [[ ! -w $("$PG_CONFIG" --pkglibdir) ]] || privilege=()
    "${privilege[@]}" make -C "$root" PG_CONFIG="$PG_CONFIG" install >"$log" 2>&1 || {
        cat "$log" >&2
        die "make install failed"
    }
    rm -f "$log"
}

# prepare [PROGRAM…]: everything up to an installed extension.
prepare() {
    find_pg_config
    find_compilers
    install_extension "$@"
}

# start_cluster DIR [SETTING=VALUE…]: a scratch server in DIR, which must
# exist. It listens on a socket in DIR only, and only DIR's owner and root get
# there. Sets PGHOST and PGUSER for clients; any user that reaches the socket
# is let in.
start_cluster() {
    local dir=$1 setting options=""
    shift
    if [[ $EUID -eq 0 ]]; then
        id postgres >/dev/null 2>&1 || die "there is no user postgres for the server to run as"
        chown postgres: "$dir"
    fi
    chmod 700 "$dir"
    as_postgres "$pg_bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-locale --no-sync >"$dir.log" 2>&1 || {
        cat "$dir.log" >&2
        die "initdb failed"
    }
    rm -f "$dir.log"
    # A scratch server need not survive a power cut. Containers often have too
    # little /dev/shm for parallel queries.
    local settings=(fsync=off synchronous_commit=off full_page_writes=off shared_buffers=256MB work_mem=64MB
        maintenance_work_mem=256MB max_wal_size=4GB)
    if [[ $(df --output=size -k /dev/shm 2>/dev/null | tail -n 1) -lt 1000000 ]]; then
        settings+=(dynamic_shared_memory_type=mmap)
    fi
    for setting in "${settings[@]}" "$@"; do
        options+=" -c $setting"
    done
    as_postgres "$pg_bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -s -w \
        -o "-c listen_addresses='' -c unix_socket_directories='$dir' $options" start || {
        cat "$dir/server.log" >&2
        die "the scratch server did not start"
    }
    export PGHOST=$dir PGUSER=postgres PGDATABASE=postgres
    unset PGPORT PGSERVICE PGPASSFILE PGOPTIONS
}

# stop_cluster DIR: stops the server if it runs, and removes DIR.
stop_cluster() {
    local dir=$1
    if [[ -f $dir/data/postmaster.pid ]]; then
        as_postgres "$pg_bin/pg_ctl" -D "$dir/data" -m immediate -s -w stop ||
            note "the scratch server in $dir did not stop"
    fi
    rm -rf "$dir" "$dir.log"
}
