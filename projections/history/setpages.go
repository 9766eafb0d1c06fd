package history

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// pageFold holds the changes of sets of links by block, in the order of the events. A block is the
// part of a set for readmodel.SetBlock consecutive links.
type pageFold map[setBlock][]setChange

type setBlock struct {
	account uuid.UUID
	name    string
	block   int
}

// setChange is the change of one bit: a link enters or leaves a set.
type setChange struct {
	number int // of the bit in the block
	at     int64
}

func (p pageFold) toggle(row *readmodel.Link, name string, at int64) {
	key := setBlock{row.AccountID, name, row.Number / readmodel.SetBlock}
	p[key] = append(p[key], setChange{row.Number % readmodel.SetBlock, at})
}

// StartsPage reports whether a change of a block at a moment starts a new page of the block. On
// average one moment in 128 starts a page. This depends on the moment alone and not on the batches,
// because a replay must produce the same pages.
func StartsPage(at int64) bool {
	return uint64(at)*0x9E3779B97F4A7C15>>57 == 0 //nolint:gosec // Fibonacci hashing
}

// splitAtPages splits changes at the moments at which pages start.
func splitAtPages(changes []setChange) [][]setChange {
	var cut [][]setChange
	first := 0
	for i := 1; i < len(changes); i++ {
		if changes[i].at != changes[i-1].at && StartsPage(changes[i].at) {
			cut, first = append(cut, changes[first:i]), i
		}
	}
	return append(cut, changes[first:])
}

// pageColumns holds runs of changes, each for one page, as columns.
type pageColumns struct {
	account          sqlbatch.UUIDs
	name             []string
	block, order     []int64
	startsPage       []bool
	since, last      []int64
	toggles          pgtype.FlatArray[pgtype.Bits]
	numbers, moments []string
}

func (t *pageColumns) add(key setBlock, order int, changes []setChange) {
	first, last := changes[0].at, changes[len(changes)-1].at
	t.account, t.name = append(t.account, sqlbatch.UUID(key.account)), append(t.name, key.name)
	t.block, t.order = append(t.block, int64(key.block)), append(t.order, int64(order))
	t.startsPage = append(t.startsPage, StartsPage(first))
	t.since, t.last = append(t.since, first), append(t.last, last)
	toggles := make([]byte, readmodel.SetBlock/8)
	var numbers, moments strings.Builder
	for i, c := range changes {
		toggles[c.number/8] ^= 0x80 >> (c.number % 8)
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		numbers.WriteByte(separator)
		numbers.WriteString(strconv.Itoa(c.number))
		moments.WriteByte(separator)
		moments.WriteString(strconv.FormatInt(c.at, 10))
	}
	t.toggles = append(t.toggles, pgtype.Bits{Bytes: toggles, Len: readmodel.SetBlock, Valid: true})
	t.numbers = append(t.numbers, numbers.String()+"}")
	t.moments = append(t.moments, moments.String()+"}")
}

// Write queues one statement that adds each run of changes to the last page of its block, or to a
// new page. It is one statement because the bits of a page are the bits of the previous page, with
// the changes since then applied. The statement reads the last page in the table, and applies the
// runs of the batch to these bits in order, with XOR over a window.
func (p pageFold) Write(s *sqlbatch.Batch) {
	if len(p) == 0 {
		return
	}
	t := &pageColumns{}
	for key, changes := range p {
		for order, part := range splitAtPages(changes) {
			t.add(key, order, part)
		}
	}
	s.Queue(`
		INSERT INTO ?schema.set_pages AS page
			(account_id, name, block, since, last, bits, numbers, moments)
		SELECT f.account_id, f.name, f.block,
			CASE WHEN f.starts_page THEN f.since ELSE coalesce(latest.since, f.since) END, f.last,
			coalesce(latest.bits, repeat('0', 2048)::bit(2048))
				# bit_xor(f.toggles::bit(2048)) OVER (
					PARTITION BY f.account_id, f.name, f.block ORDER BY f.ordinal),
			f.numbers::smallint[], f.moments::bigint[]
		FROM unnest(
			$1::uuid[], $2::text[], $3::integer[], $4::integer[], $5::bool[], $6::bigint[],
			$7::bigint[], $8::varbit[], $9::text[], $10::text[])
			AS f (account_id, name, block, ordinal, starts_page, since, last, toggles, numbers,
				moments)
		LEFT JOIN LATERAL (
			SELECT since, bits FROM ?schema.set_pages AS earlier
			WHERE earlier.account_id = f.account_id AND earlier.name = f.name
				AND earlier.block = f.block
			ORDER BY earlier.since DESC LIMIT 1) AS latest ON true
		ON CONFLICT (account_id, name, block, since) DO UPDATE SET
			last = EXCLUDED.last, bits = EXCLUDED.bits,
			numbers = page.numbers || EXCLUDED.numbers, moments = page.moments || EXCLUDED.moments`,
		t.account, t.name, t.block, t.order, t.startsPage, t.since, t.last, t.toggles, t.numbers,
		t.moments)
}
