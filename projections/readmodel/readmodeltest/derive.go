// Package readmodeltest says in plain SQL what the tables that serve lists must hold, by the links and their counters.
package readmodeltest

// Sets asks for the rows that link_sets of ?schema must have, beside empty ones.
const Sets = `
	SELECT account_id, name, number / 2048 AS block, bit_or(set_bit(repeat('0', 2048)::bit(2048), number % 2048, 1)) AS bits
	FROM (
		SELECT link.account_id, link.number, sets.name
		FROM ?schema.links AS link LEFT JOIN ?schema.link_stats AS stats ON stats.url_id = link.id, LATERAL (
			SELECT 'live' WHERE link.deleted_at IS NULL UNION ALL
			SELECT 'archived' WHERE link.archived UNION ALL
			SELECT 'ping' WHERE link.ping UNION ALL
			SELECT 'protected' WHERE link.protected UNION ALL
			SELECT 'email_stats' WHERE link.email_stats UNION ALL
			SELECT 'visited' WHERE stats.visited UNION ALL
			SELECT 'clicked' WHERE stats.total_clicks > 0 UNION ALL
			SELECT 'day:' || to_char(link.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') UNION ALL
			SELECT DISTINCT 'tag:' || tag FROM unnest(link.tag_ids) AS tag) AS sets (name)) AS entries
	GROUP BY 1, 2, 3`

// Texts asks for the rows that link_texts of ?schema must have.
const Texts = `
	SELECT account_id, number, number / 64 AS word, lower(long_url || E'\n' || note || E'\n' || hash COLLATE "default") AS text
	FROM ?schema.links WHERE deleted_at IS NULL`
