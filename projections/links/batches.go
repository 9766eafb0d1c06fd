package links

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// linkBatch is a link that a batch has changed. A batch here is the changes of one call of the API.
type linkBatch struct {
	batch, link uuid.UUID
}

// addBatch adds the batch of an event to the batches that changed a link. It ignores a batch whose
// id is not a UUID. Such a batch is no call of the API, and cannot be queried.
func (l *linkFold) addBatch(link uuid.UUID, event projection.Event) error {
	if len(event.Metadata) == 0 {
		return nil
	}
	var metadata struct { // a part of events.Metadata: decoding all of it would slow down rebuilds
		BatchID string `json:"batch"`
	}
	if err := json.Unmarshal(event.Metadata, &metadata); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	if batch, err := uuid.Parse(metadata.BatchID); err == nil {
		l.batches[linkBatch{batch, link}] = struct{}{}
	}
	return nil
}

func (l *linkFold) writeBatches(s *sqlbatch.Batch) {
	isNew := make(map[uuid.UUID]bool)
	if l.usesCopy() {
		for _, row := range l.created {
			isNew[row.ID] = true
		}
	}
	var fresh []linkBatch
	var batch, link sqlbatch.UUIDs
	for b := range l.batches {
		if isNew[b.link] {
			fresh = append(fresh, b)
			continue
		}
		batch, link = append(batch, sqlbatch.UUID(b.batch)), append(link, sqlbatch.UUID(b.link))
	}
	s.Copy("link_batches", []string{"batch", "url_id"}, len(fresh), func(r *sqlbatch.Row, i int) {
		r.UUID(fresh[i].batch)
		r.UUID(fresh[i].link)
	})
	if len(link) > 0 {
		s.Queue(`INSERT INTO ?schema.link_batches (batch, url_id)
			SELECT * FROM unnest($1::uuid[], $2::uuid[])
			ON CONFLICT DO NOTHING`, batch, link)
	}
}
