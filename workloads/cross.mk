# A compiler (clang) with the C libraries of other systems: PyPI's package ziglang, installed below
# target/. docs/HOSTS.md lists the releases.

BSD_TARGETS := x86_64-freebsd x86_64-netbsd x86_64-openbsd

PYTHON ?= python3
CROSS_COMPILER := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../target/cross-compiler)
CROSS_CC = $(CROSS_COMPILER)/bin/python -m ziglang cc

$(CROSS_COMPILER)/installed:
	$(PYTHON) -m venv $(CROSS_COMPILER)
	$(CROSS_COMPILER)/bin/pip install --quiet ziglang==0.17.0
	touch $@
