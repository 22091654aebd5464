-- Recipes: what a fingerprint is made of.
CREATE EXTENSION pg_dedup;
SELECT feature, weight FROM simhash_features('小区停水，停水三天'::text, '{"tokens": "chars", "n": [1, 2]}') LIMIT 4;
-- Own stop words, built-in ones, both languages.
SELECT string_agg(feature, ' ' ORDER BY feature COLLATE "C") FROM simhash_features('我们的小区停水了'::text, '{"tokens": "words", "stop": ["小区"]}');
SELECT string_agg(feature, ' ' ORDER BY feature COLLATE "C") FROM simhash_features('我们的小区停水了, the water is off'::text, '{"tokens": "words", "stop": true}');
SELECT string_agg(feature, ' ' ORDER BY feature COLLATE "C") FROM simhash_features('我们的小区停水了, the water is off'::text, '{"tokens": "words", "stop": "en"}');
-- Markup is not text; traditional characters count as simplified ones when asked to.
SELECT simhash('<html><style>p {}</style><p>小区<b>停</b>水&nbsp;三天</p><script>if (a<b) x()</script>'::text, '{"markup": "html"}') = simhash('小区停水三天'::text) AS html,
       simhash('<a><b>小区</b><![CDATA[停水<三天>]]></a>'::text, '{"markup": "xml"}') = simhash('小区停水三天'::text) AS xml,
       simhash('請問公租房何時搖號'::text, '{"simplify": true}') = simhash('请问公租房何时摇号'::text) AS simplified,
       simhash('請問公租房何時搖號'::text) = simhash('请问公租房何时摇号'::text) AS as_written;
-- The same text, however it is written.
SELECT count(DISTINCT simhash(t, r)) FROM (VALUES ('请问２０１９年Ａ市公租房何时摇号？'), ('请问 2019 年，a 市公租房
何时摇号!!!')) AS texts(t), (VALUES ('{}'::jsonb), ('{"tokens": "words"}'), ('{"tokens": "chars"}'), ('{"tokens": "shingles"}')) AS recipes(r)
GROUP BY r ORDER BY r;
-- Paper modes. Few of their upper bits differ from word to word.
SELECT h AS hash, lpad(to_hex(hash), 16, '0') AS "停水" FROM unnest('{city64,murmur3,java,bkdr,ap,djb,js,rs,sdbm,pjw,elf,bkdr_utf16,ap_utf16,djb_utf16,js_utf16,rs_utf16,sdbm_utf16,pjw_utf16,elf_utf16}'::text[]) WITH ORDINALITY AS hashes(h, n),
  simhash_features('停水'::text, jsonb_build_object('tokens', 'words', 'hash', h)) ORDER BY n;
-- What cannot be followed is refused.
SELECT simhash('停水'::text, '{"hash": "md5"}');
SELECT simhash('停水'::text, '{"stop": "fr"}');
SELECT simhash('停水'::text, '{"n": [2, 2]}');
SELECT simhash('停水'::text, '{"weight": "tfidf"}');
SELECT simhash('停水'::text, '{"max_df": 0.5}');
SELECT simhash('停水'::text, '{"corpus": "none@1"}');
SELECT simhash('停水'::text, '{"dictionary": "none@1"}');
DROP EXTENSION pg_dedup;
