-- What fill.sql has stored, and what the extension finds in it: the same before and after an upgrade.
SELECT md5(string_agg(p::text, ',' ORDER BY id)), count(DISTINCT fp), count(DISTINCT own), count(DISTINCT kept) FROM petition p;
SELECT bool_and(fp = simhash(body) AND kept = simhash(p, '{"title": 2, "body": "tf"}')), count(DISTINCT fingerprint(body)) FROM petition p;
SELECT string_agg(t::text, ',' ORDER BY id) FROM guarded t;
SELECT string_agg(t::text, ',' ORDER BY id) FROM exclusive t;
SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM ball t;
SELECT bool_and(fp <@ near AND bloom_contains(seen, body)) FROM ball JOIN petition USING (id);
SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM split t;
SELECT count(*), sum(id), sum(other) FROM near;
SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM explained t;
SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM result t;
SELECT string_agg(t::text, ',' ORDER BY t) FROM dedup_dictionaries t;
SELECT string_agg(t::text, ',' ORDER BY t) FROM dedup_corpora t;
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM petition WHERE fp <@ hamming_ball((SELECT fp FROM petition WHERE id = 7), 8);
SELECT count(*), sum(id) FROM petition WHERE simhash(title) <@ hamming_ball(simhash('water 7'), 4);
SELECT string_agg((fp <~> 0)::text, ',') FROM (SELECT fp FROM petition ORDER BY fp <~> 0 LIMIT 20) nearest;
SELECT count(*) FROM petition WHERE minhash(boolean_terms(body), 16) && (SELECT minhash(boolean_terms(body), 16) FROM petition WHERE id = 7);
SELECT banding_check(index, true) FROM unnest('{petition_fp,petition_expression,guarded_fp_idx,exclusive_near}'::regclass[]) index;
