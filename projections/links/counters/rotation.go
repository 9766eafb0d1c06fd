package counters

import (
	"strings"

	"linkledger/projections/sqlbatch"
)

// rotation lists the visitors of a batch that have a hash under two keys, because the keys are
// being rotated. Such a visitor counts by the hash under the former key, because nodes that were
// not rotated yet know only that hash. From then on the table has both hashes.
type rotation struct {
	link            sqlbatch.UUIDs
	former, visitor []string
	first           []bool // first in the batch under either hash
}

func (r *rotation) add(former, present linkVisitor, first bool) {
	r.link, r.first = append(r.link, sqlbatch.UUID(present.link)), append(r.first, first)
	r.former = append(r.former, strings.Clone(former.visitor))
	r.visitor = append(r.visitor, strings.Clone(present.visitor))
}

// before adds the former hash of each visitor that the table has only under the present hash, so
// that they do not count again. It runs before the clicks are counted.
func (r *rotation) before(s *sqlbatch.Batch) {
	if len(r.link) == 0 {
		return
	}
	s.Queue(`
		INSERT INTO ?schema.visitors (url_id, visitor)
		SELECT url_id, former
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bool[])
			AS rotated (url_id, former, present, first)
		WHERE first AND EXISTS (
			SELECT FROM ?schema.visitors AS v
			WHERE v.url_id = rotated.url_id AND v.visitor = present)
		ON CONFLICT DO NOTHING`, r.link, r.former, r.visitor, r.first)
}

// after adds both hashes of each visitor.
func (r *rotation) after(s *sqlbatch.Batch) {
	if len(r.link) == 0 {
		return
	}
	s.Queue(`
		INSERT INTO ?schema.visitors (url_id, visitor)
		SELECT url_id, unnest(ARRAY[former, present])
		FROM unnest($1::uuid[], $2::text[], $3::text[]) AS rotated (url_id, former, present)
		ON CONFLICT DO NOTHING`, r.link, r.former, r.visitor)
}
