#!/bin/sh
# Instructions per operation of a policy, counted by callgrind: unlike times they do not depend on what
# else the machine does. Operations and load are those of policy_load.h.
# usage: bench/callgrind.sh [BENCH_PROGRAM] [vCPUs...]
set -eu
bench=${1:-build/bench/bench_credit2}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- 32 128 256 512 1024
command -v valgrind >/dev/null || { echo "callgrind.sh: valgrind is not installed" >&2; exit 2; }
[ -x "$bench" ] || { echo "callgrind.sh: no program $bench (make build first)" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# instructions FUNCTION vCPUS: what FUNCTION executed, callees included; operations go to $dir/ops
instructions() {
	valgrind --tool=callgrind --toggle-collect="$1" --callgrind-out-file="$dir/out" \
		"$bench" --count "$2" 1000 >"$dir/ops" 2>/dev/null
	sed -n 's/^\(summary\|totals\): //p' "$dir/out" | tail -1
}

printf '%6s %12s %12s\n' vCPUs 'wake (instr)' 'pass (instr)'
for n in "$@"; do
	w=$(instructions wake_batch "$n")
	p=$(instructions pass_batch "$n")
	# units N wakes W passes P
	read -r _ _ _ wakes _ passes <"$dir/ops"
	printf '%6u %12u %12u\n' "$n" $((w / wakes)) $((p / passes))
done
