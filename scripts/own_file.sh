# shellcheck shell=bash
# Loads a CSV file of any columns into the table desk and decides what each
# column is for. Part of scripts/demo, whose variables it reads: file, encoding,
# delimiter, short; and id, text, truth, which it completes.
# shellcheck disable=SC2154

# The file as UTF-8 without a byte order mark.
decode() {
    iconv -f "${encoding:-UTF-8}" -t UTF-8 "$file" | LC_ALL=C sed $'1s/^\xEF\xBB\xBF//'
}

# The names in the header, one per line. A name that is empty or too long for PostgreSQL becomes its number, one that
# was there before gets its number.
header() {
    local beginning
    beginning=$({ decode || true; } | head -n 20 | head -c 100000 | iconv -c -f UTF-8 -t UTF-8)
    psql -At -v beginning="$beginning" -v delimiter="$delimiter" <<'SQL'
SELECT CASE WHEN row_number() OVER (PARTITION BY name ORDER BY number) > 1 THEN name || '_' || number ELSE name END
FROM substring(:'beginning' FROM '^(?:[^"\r\n]|"(?:[^"]|"")*")*') AS record,
    regexp_matches(:'delimiter' || record, format('[\%s]((?:[^"\%1$s]|"(?:[^"]|"")*")*)', :'delimiter'), 'g')
        WITH ORDINALITY AS field (match, number),
    replace(regexp_replace(match[1], '^\s*"|"\s*$', '', 'g'), '""', '"') AS unquoted,
    btrim(regexp_replace(unquoted, '\s+', ' ', 'g')) AS plain,
    LATERAL (SELECT CASE WHEN plain = '' OR octet_length(plain) > 60 THEN 'column_' || number ELSE plain END) AS named (name)
WHERE record <> '' ORDER BY number
SQL
}

identifier() { printf '"%s"' "${1//\"/\"\"}"; }

# has NAME: the file has this column.
has() {
    local name
    for name in "${names[@]}"; do
        [[ $name == "$1" ]] && return
    done
    die "the file has no column \"$1\"; it has: $(printf '%s, ' "${names[@]}" | sed 's/, $//')"
}

# Loads the file into table desk and sets the variables of examples/desk.sql.
load_file() {
    if [[ -z $encoding ]] && ! iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1; then
        encoding=GB18030
        note "the file is not UTF-8: taken for $encoding (--encoding)"
    fi
    mapfile -t names < <(header)
    [[ ${#names[@]} -gt 0 ]] || die "$file is empty"
    local name list='' columns=''
    for name in "${names[@]}"; do
        list+=", $(identifier "$name")"
        columns+=", $(identifier "$name") text"
    done
    say "Loading $file"
    psql -c "CREATE TABLE desk (${columns#, })"
    decode | psql -c "COPY desk FROM STDIN WITH (FORMAT csv, HEADER, DELIMITER '$delimiter', FORCE_NULL (${list#, }))"
    note "$(psql -At -c 'SELECT count(*) FROM desk') rows of ${#names[@]} columns"

    [[ $(psql -At -c 'SELECT EXISTS (SELECT FROM desk)') == t ]] || die "$file has a header but no rows"

    psql <"$root/scripts/column_kinds.sql"
    choose_id
    choose_columns
    walk_through_variables
    psql -c 'DROP TABLE column_kind'
}

# Gives a role to the columns named after it.
assign() {
    local role=$1 name
    shift
    for name in "$@"; do
        has "$name"
        psql -v name="$name" -v role="$role" <<<"UPDATE column_kind SET role = :'role' WHERE name = :'name' AND role IS NULL"
    done
}

choose_id() {
    local made=''
    if [[ -n $id ]]; then
        has "$id"
        psql -c "ALTER TABLE desk ADD PRIMARY KEY ($(identifier "$id"))" || die "column \"$id\" does not identify a row"
    else
        id=$(psql -At -c "SELECT name FROM column_kind WHERE is_unique AND kind IN ('number', 'code')
            ORDER BY name ~* '(^|_)(id|no)\$|编号|序号' DESC, position LIMIT 1")
        if [[ -z $id ]] || ! psql -c "ALTER TABLE desk ADD PRIMARY KEY ($(identifier "$id"))" 2>/dev/null; then
            id=row_number made=yes
            while printf '%s\n' "${names[@]}" | grep -Fxq -- "$id"; do id+=_; done
            psql -c "ALTER TABLE desk ADD COLUMN $(identifier "$id") bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
            note "no column identifies a row: rows are numbered"
        fi
    fi
    # Whole numbers shall compare as numbers.
    if [[ -z $made && $(psql -At -c "SELECT bool_and($(identifier "$id") ~ '^(0|[1-9][0-9]{0,17})\$') FROM desk") == t ]]; then
        psql -c "ALTER TABLE desk ALTER COLUMN $(identifier "$id") TYPE bigint USING $(identifier "$id")::bigint"
    fi
    [[ -n $made ]] || assign id "$id"
}

# The longest column is the running text.
choose_columns() {
    local short_names=()
    [[ -z $truth ]] || assign truth "$truth"
    [[ -z $text ]] || assign text "$text"
    if [[ -n $short ]]; then
        IFS=, read -r -a short_names <<<"$short"
        assign short "${short_names[@]}"
    fi
    [[ -n $text ]] || psql -c "UPDATE column_kind SET role = 'text' WHERE name = (SELECT name FROM column_kind
        WHERE kind = 'text' AND role IS NULL ORDER BY length DESC, position LIMIT 1)"
    text=$(psql -At -c "SELECT name FROM column_kind WHERE role = 'text'")
    [[ -n $text ]] || die "no column looks like a running text: name one by --text"
    say "What the columns are for (change it by --id, --text, --short, --truth)"
    psql -P footer=off -c "SELECT name AS column, kind AS looks_like, length AS average_length, CASE role WHEN 'id' THEN 'identifies the row'
        WHEN 'text' THEN 'compared' WHEN 'short' THEN 'counts as a whole (weight 20)'
        WHEN 'truth' THEN 'same value = true duplicates' ELSE 'not used' END AS used_as FROM column_kind ORDER BY position"
}

# Fills walk with the variables of examples/desk.sql.
walk_through_variables() {
    local fp=fp name value
    while printf '%s\n' "${names[@]}" | grep -Fxq -- "$fp"; do fp+=_; done
    walk=(-v "fp=$fp")
    while IFS=$'\t' read -r name value; do
        walk+=(-v "$name=$value")
    done < <(psql -At -F $'\t' -v id="$id" -v text="$text" -v truth="$truth" -v fp="$fp" <<'SQL'
SELECT variable.* FROM (
    SELECT jsonb_build_object('id', :'id', 'fp', :'fp', 'columns', jsonb_object_agg(name, CASE role WHEN 'short' THEN 20 END))
    FROM column_kind WHERE role IN ('short', 'text')) AS made (settings),
    LATERAL (VALUES ('id', quote_ident(:'id')), ('text', quote_ident(:'text')), ('truth', quote_ident(nullif(:'truth', ''))),
        ('settings', settings::text)) AS variable (name, value)
WHERE value IS NOT NULL
SQL
    )
}
