package controlschema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Log returns the id of the log that the read models are built from. The first call with an id
// stores that id. A call with the zero id stores nothing. Log returns the zero id if none is
// stored.
func (s *Schema) Log(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	if id != uuid.Nil {
		if _, err := s.db.NewRaw(
			"INSERT INTO linkledger.log (id) VALUES (?) ON CONFLICT DO NOTHING", id,
		).Exec(ctx); err != nil {
			return uuid.Nil, fmt.Errorf("store the log of the read models: %w", err)
		}
	}
	var known uuid.UUID
	err := s.db.NewRaw("SELECT id FROM linkledger.log").Scan(ctx, &known)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return uuid.Nil, fmt.Errorf("look up the log of the read models: %w", err)
	}
	return known, nil
}
