# The entry points of the project. The work is in scripts/ and CMakePresets.json.

PRESET ?= dev
PREFIX ?= /usr/local
BACKEND ?= oci
SECONDS ?= 60
MINUTES ?= 30
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# Builds a preset and links build/cloche to the new program.
define build
cmake --preset $(1)
cmake --build --preset $(1)
ln -sfn $(1)/cloche build/cloche
endef

.PHONY: help run test test-kubernetes check bench build build-sandboxes asan tsan fuzz soak lint format install package clean

help: ## Print this list
	@echo 'make TARGET'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: ## Install missing packages, build quickly, start the service and print an example call
	@scripts/install-deps run
	$(call build,quick)
	@scripts/run

test: ## Install missing packages, build, and run every test
	@scripts/install-deps test
	$(call build,dev)
	@scripts/test

test-kubernetes: ## Start a Kubernetes cluster on this machine, and run the tests that need one; needs Go 1.26
	@scripts/install-deps test
	$(call build,dev)
	@scripts/test-kubernetes

check: ## Install what is missing, build, and run the unit tests and the conformance suite with crun
	@scripts/install-deps test
	cmake --preset dev
	cmake --build --preset dev --target check_programs
	@scripts/test --check

# With the micro-benchmarks, which the release preset leaves out.
bench: ## Measure every claim and write docs/performance.md; QUICK=1 prints rough figures in about a minute
	@scripts/install-deps test
	cmake --preset release -DCLOCHE_BENCHMARKS=ON
	cmake --build --preset release
	ln -sfn release/cloche build/cloche
	@$(if $(QUICK),CLOCHE_BENCH_OUT=build/bench-quick) bench/run release $(if $(QUICK),--quick)

build: ## Only build; PRESET=dev, quick, release, asan or tsan
	@scripts/install-deps $(if $(filter quick release,$(PRESET)),run,test)
	$(call build,$(PRESET))

# For oci always from Debian's packages; for docker only where no registry can be used.
build-sandboxes: ## Build the images of languages that are not current; BACKEND=oci or docker
	@scripts/install-deps run
	$(call build,quick)
	@command -v mmdebstrap >/dev/null || $(SUDO) apt-get -q -y --no-install-recommends install mmdebstrap debian-archive-keyring
	$(SUDO) build/cloche images build --backend $(BACKEND) $(if $(DOCKER_HOST),--docker-host $(DOCKER_HOST)) --or-offline

asan: ## Run the unit tests with the address and undefined behaviour sanitizers
	@scripts/install-deps test
	$(call build,asan)
	@scripts/test --preset asan --unit

tsan: ## Run the unit tests with the thread sanitizer
	@scripts/install-deps test
	$(call build,tsan)
	@scripts/test --preset tsan --unit

fuzz: ## Fuzz each decoder for SECONDS=60
	@scripts/install-deps test
	@scripts/fuzz --seconds $(SECONDS)

soak: ## Run load and random faults for MINUTES=30, then an audit; SEED=N repeats a run
	@scripts/install-deps test
	$(call build,dev)
	@scripts/soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

lint: ## Check format, clang-tidy, shellcheck and words
	@scripts/install-deps test
	@scripts/lint

format: ## Format the sources
	@scripts/install-deps test
	@scripts/lint --fix-format

install: ## Install program, library and headers under PREFIX=/usr/local
	@scripts/install-deps run
	$(call build,release)
	$(SUDO) cmake --install build/release --prefix $(PREFIX)

package: ## Make Debian packages, the source tarball and their checksums in build/packages
	@scripts/install-deps package
	$(call build,release)
	@scripts/package

clean: ## Remove the build; the caches in ~/.cache/cloche remain
	rm -rf build
