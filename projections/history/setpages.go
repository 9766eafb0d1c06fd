package history

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// pageFold has the changes of sets of links, by block and in their order.
type pageFold map[setBlock][]setChange

type setBlock struct {
	account uuid.UUID
	name    string
	block   int
}

// setChange is a link that enters a set which it was not in, or leaves it.
type setChange struct {
	number int // of the bit in the block
	at     int64
}

func (p pageFold) toggle(row *readmodel.Link, name string, at int64) {
	key := setBlock{row.AccountID, name, row.Number / readmodel.SetBlock}
	p[key] = append(p[key], setChange{row.Number % readmodel.SetBlock, at})
}

// TurnsPage tells whether a page ends before a moment. So does one of 128, whatever the batches
// are: a replay must come to the same pages.
func TurnsPage(at int64) bool {
	return uint64(at)*0x9E3779B97F4A7C15>>57 == 0 //nolint:gosec // Fibonacci hashing
}

// stretches cuts changes where pages end.
func stretches(changes []setChange) [][]setChange {
	var cut [][]setChange
	first := 0
	for i := 1; i < len(changes); i++ {
		if changes[i].at != changes[i-1].at && TurnsPage(changes[i].at) {
			cut, first = append(cut, changes[first:i]), i
		}
	}
	return append(cut, changes[first:])
}

// pageTable are stretches of changes, turned by a quarter.
type pageTable struct {
	account          sqlbatch.UUIDs
	name             []string
	block, place     []int64
	turns            []bool
	since, last      []int64
	flips            pgtype.FlatArray[pgtype.Bits]
	numbers, moments []string
}

func (t *pageTable) add(key setBlock, place int, changes []setChange) {
	first, last := changes[0].at, changes[len(changes)-1].at
	t.account, t.name, t.block = append(
		t.account, sqlbatch.UUID(key.account),
	), append(t.name, key.name), append(t.block, int64(key.block))
	t.place, t.turns = append(t.place, int64(place)), append(t.turns, TurnsPage(first))
	t.since, t.last = append(t.since, first), append(t.last, last)
	flips := make([]byte, readmodel.SetBlock/8)
	var numbers, moments strings.Builder
	for i, c := range changes {
		flips[c.number/8] ^= 0x80 >> (c.number % 8)
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		numbers.WriteByte(separator)
		numbers.WriteString(strconv.Itoa(c.number))
		moments.WriteByte(separator)
		moments.WriteString(strconv.FormatInt(c.at, 10))
	}
	t.flips = append(t.flips, pgtype.Bits{Bytes: flips, Len: readmodel.SetBlock, Valid: true})
	t.numbers, t.moments = append(
		t.numbers, numbers.String()+"}",
	), append(t.moments, moments.String()+"}")
}

// Write puts each stretch on the last page of its block, or on a new one.
func (p pageFold) Write(s *sqlbatch.Batch) {
	if len(p) == 0 {
		return
	}
	t := &pageTable{}
	for key, changes := range p {
		for place, stretch := range stretches(changes) {
			t.add(key, place, stretch)
		}
	}
	s.Queue(`
		INSERT INTO ?schema.set_pages AS page (account_id, name, block, since, last, bits, numbers, moments)
		SELECT f.account_id, f.name, f.block, CASE WHEN f.turns THEN f.since ELSE coalesce(latest.since, f.since) END, f.last,
			coalesce(latest.bits, repeat('0', 2048)::bit(2048))
				# bit_xor(f.flips::bit(2048)) OVER (PARTITION BY f.account_id, f.name, f.block ORDER BY f.place),
			f.numbers::smallint[], f.moments::bigint[]
		FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::integer[], $5::bool[], $6::bigint[], $7::bigint[], $8::varbit[],
			$9::text[], $10::text[]) AS f (account_id, name, block, place, turns, since, last, flips, numbers, moments)
		LEFT JOIN LATERAL (
			SELECT since, bits FROM ?schema.set_pages AS earlier
			WHERE earlier.account_id = f.account_id AND earlier.name = f.name AND earlier.block = f.block
			ORDER BY earlier.since DESC LIMIT 1) AS latest ON true
		ON CONFLICT (account_id, name, block, since) DO UPDATE SET
			last = EXCLUDED.last, bits = EXCLUDED.bits,
			numbers = page.numbers || EXCLUDED.numbers, moments = page.moments || EXCLUDED.moments`,
		t.account, t.name, t.block, t.place, t.turns, t.since, t.last, t.flips, t.numbers,
		t.moments)
}
