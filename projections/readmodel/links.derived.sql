-- Fills the tables that are derived from links and link_stats. Each statement belongs to the table
-- that it names first, and also corrects rows that exist already.

-- Only texts in pure ASCII are derived here. SearchText folds other letters in ways that lower()
-- does not.
DELETE FROM ?schema.link_texts AS t USING ?schema.links AS link
    WHERE t.account_id = link.account_id AND t.number = link.number AND link.deleted_at IS NOT NULL;
INSERT INTO ?schema.link_texts AS t (account_id, number, text)
    SELECT account_id, number,
        convert_to(lower(long_url || E'\n' || note || E'\n' || hash COLLATE "C"), 'UTF8')
    FROM ?schema.links
    WHERE deleted_at IS NULL
        AND octet_length(long_url || note || hash) = char_length(long_url || note || hash)
    ON CONFLICT (account_id, number) DO UPDATE SET text = EXCLUDED.text WHERE t.text <> EXCLUDED.text;

-- The inner query reads the links once and lists the sets of each link as rows. The aggregate
-- bit_or turns the rows of a block into the block's bits. 2048 is SetBlock.
DELETE FROM ?schema.link_sets;
INSERT INTO ?schema.link_sets (account_id, name, block, bits)
    SELECT account_id, name, number / 2048,
        bit_or(set_bit(repeat('0', 2048)::bit(2048), number % 2048, 1))
    FROM (
        SELECT link.account_id, link.number, sets.name
        FROM ?schema.links AS link
            LEFT JOIN ?schema.link_stats AS stats ON stats.url_id = link.id, LATERAL (
            SELECT 'live' WHERE link.deleted_at IS NULL UNION ALL
            SELECT 'archived' WHERE link.archived UNION ALL
            SELECT 'ping' WHERE link.ping UNION ALL
            SELECT 'protected' WHERE link.protected UNION ALL
            SELECT 'email_stats' WHERE link.email_stats UNION ALL
            SELECT 'visited' WHERE stats.visited UNION ALL
            SELECT 'clicked' WHERE stats.total_clicks > 0 UNION ALL
            SELECT 'day:' || to_char(link.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') UNION ALL
            SELECT DISTINCT 'tag:' || tag FROM unnest(link.tag_ids) AS tag
        ) AS sets (name)) AS entries
    GROUP BY 1, 2, 3;

-- A link without clicks gets a row of zeros. If the log has a click before the creation of its
-- link, the row of the link exists without account and number, and gets them here.
INSERT INTO ?schema.link_stats AS s (url_id, account_id, number, total_clicks, unique_clicks, visited)
    SELECT id, account_id, number, 0, 0, false FROM ?schema.links
    ON CONFLICT (url_id) DO UPDATE SET account_id = EXCLUDED.account_id, number = EXCLUDED.number
        WHERE s.account_id IS NULL;
