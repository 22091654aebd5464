# PostgreSQL's official image with pg_dedup:
#
#     docker build -t pg_dedup .                          # PostgreSQL 17
#     docker build -t pg_dedup --build-arg PG_MAJOR=15 .
ARG PG_MAJOR=17

FROM postgres:${PG_MAJOR}-bookworm AS build
ARG PG_MAJOR
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl build-essential clang libclang-dev libicu-dev \
    pkg-config dpkg-dev postgresql-server-dev-${PG_MAJOR}
COPY . /pg_dedup
WORKDIR /pg_dedup
RUN curl --proto '=https' -sSf https://static.rust-lang.org/rustup/rustup-init.sh | sh -s -- -y --profile minimal \
        --default-toolchain "$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)" \
    && PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config scripts/package

FROM postgres:${PG_MAJOR}-bookworm
COPY --from=build /pg_dedup/target/package/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
