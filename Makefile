# pg_dedup in the PostgreSQL manner: make, make install, make installcheck. PG_CONFIG chooses the server.
# The library is built by cargo; everything else is PGXS.
PG_CONFIG ?= pg_config
CARGO ?= cargo
# Programs of the workspace to build along with the library (make programs): one run of cargo, because in two it would
# compile what they share twice, with other features.
PROGRAMS ?=
# Of cargo. The library of another one stands beside that of release.
BUILD_PROFILE ?= release

EXTENSION_VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
PG_MAJOR := $(shell $(PG_CONFIG) --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')

# What is installed is put together here: two extensions, one library.
build := target/extension/pg$(PG_MAJOR)$(patsubst %,-%,$(filter-out release,$(BUILD_PROFILE)))
library := $(build)/pg_dedup.so
extensions := pg_dedup pg_dedup_papers
# In the order in which the objects depend on each other.
pg_dedup_sql := $(addprefix sql/, fingerprint.sql banding.sql similarity.sql guard.sql corpus.sql evaluate.sql \
	groups.sql dedup.sql setup.sql report.sql)
pg_dedup_papers_sql := $(addprefix sql/papers/, detectors.sql exact.sql groups.sql)
install_sql := $(extensions:%=$(build)/%--$(EXTENSION_VERSION).sql)

MODULEDIR = extension
DATA_built = $(extensions:%=$(build)/%.control) $(install_sql)
DATA = $(wildcard sql/upgrade/*.sql)
EXTRA_CLEAN = target/extension

# make installcheck: against a running server, which the usual variables name (PGHOST, PGPORT, PGUSER).
TEST_OUTPUT ?= $(build)
REGRESS = $(sort $(basename $(notdir $(wildcard tests/pg_regress/sql/*.sql))))
REGRESS_OPTS = --inputdir=tests/pg_regress --outputdir=$(TEST_OUTPUT) --encoding=UTF8
# Notices of progress come by the clock.
export PGOPTIONS := $(PGOPTIONS) -c pg_dedup.progress=0
ISOLATION = $(sort $(basename $(notdir $(wildcard tests/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=tests/isolation --outputdir=$(TEST_OUTPUT) --encoding=UTF8

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

all: $(library)
install: install-library
uninstall: uninstall-library

# pgrx names a newer compiler than ours, which Cargo.toml asks for; it does not need it.
cargo_build = PGRX_PG_CONFIG_PATH="$$(command -v $(PG_CONFIG))" $(CARGO) build --profile $(BUILD_PROFILE) -p pg_dedup $(PROGRAMS:%=-p %) \
	--ignore-rust-version --no-default-features --features pg$(PG_MAJOR)

# What cargo would say of both misses the point.
define check_tools
	@case "$(PG_MAJOR)" in 15|16|17|18|19) ;; *) echo "error: $(PG_CONFIG) is of no PostgreSQL from 15 to 19: make PG_CONFIG=/path/to/pg_config" >&2; exit 1;; esac
	@wanted=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); found=$$($${RUSTC:-rustc} --version | cut -d' ' -f2); \
	printf '%s\n' "$$wanted" "$$found" | sort -VC || { echo "error: Rust $$found is too old, $$wanted is needed" >&2; exit 1; }
endef

programs:
	$(check_tools)
	$(cargo_build)

# Not a prerequisite of every target: `sudo make install` after `make` needs no cargo.
# Cargo says where the library is: its configuration may name a place.
$(library): Cargo.toml Cargo.lock core/build.rs $(shell find src core/src papers/src -type f) | $(build)
	$(check_tools)
	cp "$$($(cargo_build) --message-format=json-render-diagnostics | sed -n 's/.*"\([^"]*libpg_dedup\.so\)".*/\1/p')" $@

$(build)/%.control: %.control Cargo.toml | $(build)
	sed 's/@VERSION@/$(EXTENSION_VERSION)/' $< >$@

$(build)/pg_dedup--$(EXTENSION_VERSION).sql: $(pg_dedup_sql)
$(build)/pg_dedup_papers--$(EXTENSION_VERSION).sql: $(pg_dedup_papers_sql)
$(install_sql): Cargo.toml | $(build)
	cat $(filter %.sql, $^) >$@

installcheck: | $(TEST_OUTPUT)
$(sort $(build) $(TEST_OUTPUT)):
	@mkdir -p $@

# The archive of a release, as PGXN takes it. The version stands in Cargo.toml alone.
dist:
	@mkdir -p target
	scripts/check_meta.py
	sed 's/@VERSION@/$(EXTENSION_VERSION)/' META.json.in >target/META.json
	git archive --prefix=pg_dedup-$(EXTENSION_VERSION)/ --add-file=target/META.json \
		--output=target/pg_dedup-$(EXTENSION_VERSION).zip HEAD

# Keeps this version's SQL as what upgrades start from; once it is released, this is not done again for it.
fixture: $(install_sql)
	@mkdir -p tests/upgrade/$(EXTENSION_VERSION)
	cp $(install_sql) tests/upgrade/$(EXTENSION_VERSION)/

.PHONY: dist fixture programs install-library uninstall-library
install-library: $(library)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $(library) '$(DESTDIR)$(pkglibdir)/pg_dedup.so'

uninstall-library:
	rm -f '$(DESTDIR)$(pkglibdir)/pg_dedup.so'
