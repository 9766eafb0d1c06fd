package counters

import (
	"strings"

	"linkledger/projections/sqlbatch"
)

// rotation lists the visitors of a batch that have two hashes, one under the former visitor key and
// one under the present one, because the visitor key is being rotated. Such a visitor counts by the
// former hash, because nodes that do not have the present key yet know only that hash. Afterwards
// the table has both hashes.
type rotation struct {
	link            sqlbatch.UUIDs
	former, visitor []string
	first           []bool // neither hash was in the batch before
}

func (r *rotation) add(former, present linkVisitor, first bool) {
	r.link, r.first = append(r.link, sqlbatch.UUID(present.link)), append(r.first, first)
	r.former = append(r.former, strings.Clone(former.visitor))
	r.visitor = append(r.visitor, strings.Clone(present.visitor))
}

// before queues the statement that runs before the clicks are counted. If the table has a visitor
// only under the present hash, the statement adds the former hash, so that the visitor does not
// count again.
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

// after queues the statement that runs after the clicks are counted. It adds both hashes of each
// visitor.
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
