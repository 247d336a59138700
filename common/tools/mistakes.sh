# `./learn mistakes` and `./learn break`: docs/mistakes.md says what they are for. Sourced by learn; uses
# its say, die, show, run, go_to, chapter_name, and of set_up.sh need_patch and set_up.
# shellcheck shell=bash disable=SC2154

# The patches of chapter $1 or, without it, of all; as paths from the project's folder.
patches() {
  local patch
  for patch in "$here"/[0-9][0-9]_*/mistakes/*.patch; do
    [ -z "$1" ] || [[ $patch == */"$1"/mistakes/* ]] || continue
    [ ! -e "$patch" ] || printf '%s\n' "${patch#"$here/"}"
  done
}

# The value of a field in the header of a patch (standard input).
header() { sed -n "/^\$/q; s/^$1: *//p"; }

list_mistakes() {
  local patch chapter=''
  while read -r patch; do
    [ "$chapter" = "${patch%%/*}" ] || printf '%s\n' "${patch%%/*}"
    chapter=${patch%%/*}
    printf '  %-34s %-8s %s\n' "$(basename "$patch" .patch)" "$(header check <"$here/$patch")" \
      "$(header name <"$here/$patch")"
  done < <(patches "$1")
}

test_mistakes() {
  local word chapter='' list='' status=0 keep_going=(-k)
  for word in "$@"; do
    case $word in
      -h | --help) overview; return ;;
      --list) list=1 ;;
      -*) die "mistakes does not know $word; it takes a chapter and --list" ;;
      *) [ -z "$chapter" ] || die 'mistakes takes one chapter, or none for all: ./learn mistakes 02'
        chapter=$(chapter_name "$word") ;;
    esac
  done
  [ "$chapter" != broken ] || die 'broken/ is a mistake itself: ./learn break --reveal says which'
  [ -n "$(patches "$chapter")" ] || die "$chapter has no mistakes"
  [ -z "$list" ] || { list_mistakes "$chapter"; return; }
  [ "$backend" != gpu ] || die 'the mistakes run on the CPU backend, which can name them: leave --gpu out'
  backend=cpu
  go_to "$here"
  need_patch
  set_up
  # A mistake that cannot be built must not hide the others; its test then says that it is missing.
  [ ! -e build/cpu/build.ninja ] || keep_going=(-k 0)
  run cmake --build --preset cpu -j "$jobs" --target "${chapter:+${chapter}_}mistakes" -- \
    "${keep_going[@]}" || status=1
  set -- --preset mistakes -j "$jobs" --no-tests=error ${chapter:+-L "mistakes_${chapter%%_*}"}
  show ctest "$@"
  ctest "$@" || status=$?
  return $status
}

# ---- break --------------------------------------------------------------------------------------
# broken/.mistake holds, in base64 so that no search stumbles on it: the chapter, the checksum of what
# was put into broken/, the patch.

sum_of_broken() { (cd "$here/broken" && sha256sum -- *) | sha256sum; }

break_chapter() {
  local chapter='' again='' reveal='' seed='' all patch candidates=()
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) overview; return ;;
      --again) again=1 ;;
      --reveal) reveal=1 ;;
      --seed) seed=${2:-}
        [[ $seed =~ ^[0-9]{1,9}$ ]] || die '--seed takes a number: ./learn break --seed 3 02'
        shift ;;
      -*) die "break does not know $1; it takes a chapter, --again, --seed N or --reveal" ;;
      *) [ -z "$chapter" ] || die 'break takes one chapter: ./learn break 02'
        chapter=$(chapter_name "$1") ;;
    esac
    shift
  done
  [ -z "$reveal" ] || { reveal_mistake; return; }
  [ -n "$chapter" ] || die 'break which chapter? For example: ./learn break 02'
  [ "$chapter" != broken ] || die 'broken/ is broken already; name a chapter: ./learn break 02'

  cd -- "$here" || exit
  if [ -e broken/.mistake ]; then
    [ -n "$again" ] || [ "$(base64 -d broken/.mistake | sed -n 2p)" = "$(sum_of_broken)" ] ||
      die "broken/ has your edits, which a new mistake would overwrite: ./learn break --again" \
        "${chapter%%_*} does so, ./learn break --reveal tells what was wrong"
  elif [ -e broken ]; then
    die 'broken/ was not made by ./learn break: move it away'
  fi

  need_patch
  all=$(patches "$chapter")
  for patch in $all; do  # yours may be an edited chapter: take what still applies
    ! patch -p1 -f -s --dry-run -i "$patch" >/dev/null 2>&1 || candidates+=("$patch")
  done
  [ ${#candidates[@]} -gt 0 ] || die "no mistake fits $chapter as it is now: was it edited?"
  seed=${seed:-$RANDOM}
  patch=${candidates[10#$seed % ${#candidates[@]}]}

  rm -rf broken
  mkdir broken
  find "$chapter" -maxdepth 1 -type f -exec cp -t broken -- {} +
  patch -p2 -f -s --no-backup-if-mismatch -d broken <"$patch"
  touch -- broken/*  # the one that was changed is not the newest
  { echo "$chapter"; sum_of_broken; cat "$patch"; } | base64 >broken/.mistake
  cat <<END
broken/ is now a copy of $chapter in which one thing is wrong. Find it:

  ./learn test broken       which sizes fail, and what the checks say
  ./learn run broken        the program; its options are those of the chapter
  ./learn profile broken    the work that each line does

Edit the files in broken/ until the tests pass. ./learn break --reveal tells what it was.
END
  [ -n "$(gpu_problem)" ] ||
    printf '\nOn a GPU some mistakes show only now and then: --cpu checks every access.\n'
}

reveal_mistake() {
  local mistake
  [ -e "$here/broken/.mistake" ] || die 'there is no broken/ yet: ./learn break 02 makes it'
  mistake=$(base64 -d "$here/broken/.mistake")
  printf 'broken/ is %s with this mistake: %s\n' "$(sed -n 1p <<<"$mistake")" \
    "$(header name <<<"$mistake")"
  printf 'On a GPU: %s\n' "$(header seen <<<"$mistake")"
  printf 'The check that names it: %s, %s\n\n' "$(header check <<<"$mistake")" \
    "$(header '\(line\|says\)' <<<"$mistake" | sed 's/^\(line\|says\): *//')"
  sed '1,/^$/d' <<<"$mistake"
}
