.PHONY: check fix test docs bench attack page image

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

docs:  ## the generated pages renewed, the site built as .ci/run does
	python tests/generated_pages.py
	mkdocs build --strict

bench:  ## four tables of docs/evaluate/benchmarks.md; KGMED_DATA=DIR for the last two
	python bench/graph.py --graph cmekg
	python bench/graph.py --graph hykge
	python bench/linking.py
	python bench/evidence.py

attack:  ## kills, damaged input, hostile servers, turned bits; the long form is in docs/reliability.md
	python bench/attack.py

page:  ## types of the page's JavaScript, checked by TypeScript out of npm; the page itself needs neither
	npx --yes --package typescript@7.0.2 tsc -p tests/service/tsconfig.json

image:  ## the steps of deploy/Dockerfile without Docker: installs, builds both graphs, serves and asks; some minutes
	env -u KGMED_HOME python bench/dockerfile.py
