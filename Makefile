.PHONY: check fix test bench

check:  ## what a change must pass; KGMED_DATA=DIR adds the tests on real data sets
	ruff check
	ruff format --check
	mypy --strict
	pytest

fix:  ## mend what can be mended by a program
	ruff check --fix
	ruff format

test:
	pytest

bench:  ## every measured figure of README.md; KGMED_DATA=DIR for the last two
	python bench/graph.py --graph cmekg
	python bench/graph.py --graph hykge
	python bench/linking.py
	python bench/evidence.py
