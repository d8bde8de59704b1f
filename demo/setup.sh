# Sourced by demo/run and tests/run: finds a Python, makes .venv, installs what is missing. Expects $root, the checkout.
#
# After `set_up FILE...`, $python is the interpreter of .venv with every FILE's packages in it. A stamp per requirements
# file is written after pip has finished, never before: an interrupted install is taken up again by the next start, and a
# finished one costs no network.

# What a first install fetches and unpacks below .venv, in megabytes. Only the estimate of the time left depends on it.
DOWNLOAD_MB=3200
UNPACKED_MB=6300

die() {
    echo "$*" >&2
    exit 1
}

# Prints the first Python 3.11 to 3.13 that can make a virtual environment.
find_python() {
    local candidate without_venv=""
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
        # A version manager's stand-in is found on the path and fails when called: ask it, do not only look it up.
        "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || continue
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
        without_venv=$candidate
    done
    if [ -n "$without_venv" ]; then
        die "$without_venv comes without the venv module; install it (on Debian or Ubuntu: apt-get install python3-venv)."
    fi
    die "Python 3.11, 3.12 or 3.13 is needed and none was found; install one, or name it: PYTHON=/path/to/python $0"
}

# Makes .venv where there is none that works.
make_venv() {
    local base
    python=$root/.venv/bin/python
    "$python" -c 'import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && return
    base=$(find_python) || exit 1
    mkdir -p "$root/.venv" 2>/dev/null && [ -w "$root/.venv" ] ||
        die "$root cannot be written to, and .venv has to be made there; use a copy of the checkout that you own."
    echo "Making .venv with $("$base" --version)."
    "$base" -m venv --clear "$root/.venv" || die "Making $root/.venv failed; the lines above say why."
}

# A stamp's content for requirements file $1: the file's checksum and the interpreter it was installed for.
stamp_of() {
    echo "$(cksum <"$1") $("$python" -c 'import sys; print(sys.version_info[:2])')"
}

clock() {
    printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# Megabytes in a folder, 0 where there is none.
size_of() {
    local size
    size=$(du -sm "$1" 2>/dev/null | cut -f1)
    echo "${size:-0}"
}

# Until it is killed, or this shell is gone: how much is there, how long it took, how long it may take. pip first fetches
# all archives, then unpacks them one by one.
show_progress() {
    local start=$SECONDS first fetched unpacked unpacking_since="" elapsed left every=15
    first=$(size_of "$root/.venv")
    [ -t 2 ] && every=2
    # A killed watcher leaves its last sleep behind, which must hold neither the output nor the lock.
    while sleep "$every" >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        elapsed=$((SECONDS - start))
        fetched=$(size_of "$root/.venv/download")
        unpacked=$(($(size_of "$root/.venv") - fetched))
        left=""
        if [ "$unpacked" -gt $((first + 100)) ]; then
            : "${unpacking_since:=$((elapsed - every))}"
            if [ "$unpacked" -lt "$UNPACKED_MB" ]; then
                left=$(((elapsed - unpacking_since) * (UNPACKED_MB - unpacked) / (unpacked - first)))
            fi
        elif [ "$fetched" -gt 200 ] && [ "$fetched" -lt "$DOWNLOAD_MB" ]; then
            # Unpacking took about 90 seconds where this was measured.
            left=$((elapsed * (DOWNLOAD_MB - fetched) / fetched + 90))
        fi
        left="$fetched MB fetched, $unpacked MB unpacked, $(clock $elapsed) elapsed${left:+, about $(clock $left) left}"
        if [ -t 2 ]; then
            printf '\r\033[K  %s' "$left" >&2
        else
            echo "  $left" >&2
        fi
    done
}

# Installs requirements file $1 unless its stamp says that it is there.
install() {
    local file=$1 stamp result watcher
    stamp=$root/.venv/.installed-$(echo "${file#"$root"/}" | tr / -)
    [ "$(cat "$stamp" 2>/dev/null)" = "$(stamp_of "$file")" ] && return
    [ -w "$root/.venv" ] || die "$root/.venv is incomplete and cannot be written to; use a copy of the checkout that you own."
    if [ ! -e "$stamp" ] && [ "$file" = "$root/requirements.txt" ]; then
        echo "First start: pip downloads about 3.2 GB of Python packages (on Linux, torch comes with its CUDA libraries)."
        echo "They take 6.3 GB below .venv (9.5 GB while they are unpacked) and some minutes, once."
    fi
    echo "Installing ${file#"$root"/}."
    # pip's archives go below .venv, so that their growth can be watched and a small /tmp does not fill up.
    rm -rf "$root/.venv/download"
    mkdir -p "$root/.venv/download"
    # The watcher runs beside pip, not pip beside the watcher: Ctrl-C reaches only what runs in the foreground.
    show_progress 9<&- &
    watcher=$!
    trap 'kill "$watcher" 2>/dev/null' EXIT
    result=0
    TMPDIR=$root/.venv/download "$python" -m pip install --quiet --progress-bar off --disable-pip-version-check \
        --requirement "$file" || result=$?
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    trap - EXIT
    [ -t 2 ] && printf '\r\033[K' >&2
    rm -rf "$root/.venv/download"
    [ "$result" -eq 0 ] || die "Installing ${file#"$root"/} did not finish; pip says why above. The next start goes on from here."
    stamp_of "$file" >"$stamp"
}

# Leaves $python with the packages of every requirements file named.
set_up() {
    local file
    # One set-up at a time in a checkout: a second start waits for the first one's packages. The lock is on this very file.
    if command -v flock >/dev/null; then
        exec 9<"$root/demo/setup.sh"
        flock --nonblock 9 || {
            echo "Another start is setting up .venv; waiting for it."
            flock 9
        }
    fi
    make_venv
    for file in "$@"; do
        install "$file"
    done
    exec 9<&-
}
