# The front door: each target first installs what is missing (scripts/setup), then meson does the work.
#
#   build/        what users run: optimized, without the whole-state check after every operation
#   build-asan/   the same with AddressSanitizer, UndefinedBehaviorSanitizer and all debug checks
#   build-clang/  built by clang

# $(call run_tests,DIRECTORY,MORE ARGUMENTS): meson's summary, then what the failed tests said
run_tests = meson test -C $(1) --no-rebuild $(2) || { scripts/count-tests --failures $(1); exit 1; }
HVSCHED = build/src/cli/hvsched
export UBSAN_OPTIONS ?= halt_on_error=1:print_stacktrace=1

.PHONY: help setup build run test sanitize-build sanitize clang soak model bench format \
	format-check clean

help:
	@echo 'make run        build, then the main job: a published experiment and a what-if'
	@echo 'make test       build, then every test'
	@echo 'make sanitize   every test under ASan and UBSan, with all debug checks'
	@echo 'make clang      every test, built by clang'
	@echo 'make soak       random operations with new seeds until you stop it (ASan, all checks)'
	@echo 'make model      the big models of the rendezvous (make test runs the small ones)'
	@echo 'make bench      the timed programs'
	@echo 'make format     lay out the sources with clang-format (format-check: only look)'
	@echo 'make build      build/src/cli/hvsched'
	@echo 'make clean      remove the build directories'

# Nothing when all is there, so it costs a tenth of a second each time.
setup:
	@scripts/setup build

build: setup build/build.ninja
	ninja -C build

build/build.ninja: | setup
	meson setup build -Dbuildtype=debugoptimized -Ddebug_checks=false

# Exit code 1 of an experiment says that a published figure was missed: a result, not an error.
run: build
	$(HVSCHED) experiment credit2-runqueue || [ $$? -eq 1 ]
	$(HVSCHED) run scenarios/teaching/runqueue-what-if.yaml

test: build
	$(call run_tests,build)

sanitize-build: setup build-asan/build.ninja
	ninja -C build-asan

sanitize: sanitize-build
	$(call run_tests,build-asan,--timeout-multiplier 4)

build-asan/build.ninja: | setup
	meson setup build-asan -Dbuildtype=debugoptimized -Ddebug_checks=true \
		-Db_sanitize=address,undefined -Dc_args=-fno-sanitize-recover=all

clang: setup build-clang/build.ninja
	ninja -C build-clang
	$(call run_tests,build-clang)

build-clang/build.ninja: | setup
	scripts/setup clang
	CC=clang meson setup build-clang -Dbuildtype=debugoptimized -Ddebug_checks=true

# SEED=n: start there.
soak: sanitize-build
	scripts/soak build-asan $(SEED)

model: setup
	tests/model/check reduced big

bench: build
	scripts/setup bench
	meson test -C build --no-rebuild --benchmark --verbose --num-processes 1

SOURCES = find include src tests bench -name '*.[ch]'

format:
	scripts/setup format
	$(SOURCES) | xargs clang-format -i

format-check:
	scripts/setup format
	$(SOURCES) | xargs clang-format --dry-run -Werror

clean:
	rm -rf build build-asan build-clang
