package counters

import (
	"strings"

	"linkledger/projections/sqlbatch"
)

// rotation are the visitors of a batch who are known under two keys, because the keys are being
// rotated. Such a visitor is counted by his hash under the former key, which nodes know that were
// not rotated yet, and is there by both from then on.
type rotation struct {
	link            sqlbatch.UUIDs
	former, visitor []string
	first           []bool // the batch has neither of them before
}

func (r *rotation) add(former, present linkVisitor, first bool) {
	r.link, r.first = append(r.link, sqlbatch.UUID(present.link)), append(r.first, first)
	r.former, r.visitor = append(
		r.former, strings.Clone(former.visitor),
	), append(r.visitor, strings.Clone(present.visitor))
}

// before makes those known by their former hash who are known by the present one alone, so that
// they are not counted.
func (r *rotation) before(s *sqlbatch.Batch) {
	if len(r.link) == 0 {
		return
	}
	s.Queue(`
		INSERT INTO ?schema.visitors (url_id, visitor)
		SELECT url_id, former
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bool[]) AS rotated (url_id, former, present, first)
		WHERE first AND EXISTS (SELECT FROM ?schema.visitors AS v WHERE v.url_id = rotated.url_id AND v.visitor = present)
		ON CONFLICT DO NOTHING`, r.link, r.former, r.visitor, r.first)
}

// after makes all of them known by both.
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
