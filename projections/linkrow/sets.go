package linkrow

import (
	"slices"

	"linkledger/projections/readmodel"
)

// ToggleSets is the end of a statement whose CTE "toggled" has links, by account_id and number,
// each with the name of a set. A link that is not in the set enters it, and a link that is in the
// set leaves it. But no link leaves the set "visited", which has the links that were ever visited.
// Links without an account are skipped, because they are not created yet, or their sets are filled
// in bulk.
const ToggleSets = `
	INSERT INTO ?schema.link_sets AS s (account_id, name, block, bits)
	SELECT account_id, name, number / 2048,
		bit_xor(set_bit(repeat('0', 2048)::bit(2048), number % 2048, 1))
	FROM toggled WHERE account_id IS NOT NULL GROUP BY 1, 2, 3
	ON CONFLICT (account_id, name, block) DO UPDATE SET bits =
		CASE s.name WHEN 'visited' THEN s.bits | EXCLUDED.bits ELSE s.bits # EXCLUDED.bits END`

// Toggled returns the names that are in only one of before and after.
func Toggled(before, after []string) []string {
	var names []string
	for _, name := range before {
		if !slices.Contains(after, name) {
			names = append(names, name)
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			names = append(names, name)
		}
	}
	return names
}

// SetsOf returns the names of the sets that a link is in because of its row. Its clicks put it in
// further sets.
func SetsOf(row *readmodel.Link) []string {
	sets := []string{readmodel.SetOfDay(row.CreatedAt)}
	for name, in := range map[string]bool{
		readmodel.SetLive: row.DeletedAt.IsZero(), "email_stats": row.EmailStats, "ping": row.Ping,
		"protected": row.Protected, "archived": row.Archived,
	} {
		if in {
			sets = append(sets, name)
		}
	}
	for _, id := range row.TagIDs {
		sets = append(sets, readmodel.SetOfTag(id))
	}
	return sets
}
