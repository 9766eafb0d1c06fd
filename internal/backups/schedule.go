package backups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"linkledger/condition"
	"linkledger/events/embedded/backup"
	"linkledger/internal/config"
	"linkledger/internal/secret"
	"linkledger/projections/keystore"
)

// lookInterval is how often a schedule checks whether a backup is due. It is also the pause after a
// backup that has failed.
const lookInterval = time.Minute

// Schedule makes backups of an installation at intervals. Several processes may have the same
// schedule. One of them makes a backup when the newest backup of all is old enough.
type Schedule struct {
	cfg     ScheduleConfig
	failing *condition.Log

	mu      sync.Mutex
	newest  time.Time // zero: there is none, or it is not known yet
	failure error     // of the last attempt
}

// ScheduleConfig configures a Schedule.
type ScheduleConfig struct {
	config.BackingUp

	Events     string      // folder of the embedded event store
	SigningKey secret.Text // that belongs to the installation
	Version    string      // of the program
	Logger     *slog.Logger
}

// NewSchedule returns a schedule, or nil if none is configured.
func NewSchedule(cfg ScheduleConfig) *Schedule {
	if cfg.Backup == "" {
		return nil
	}
	return &Schedule{cfg: cfg, failing: condition.New(
		cfg.Logger, "no backup can be made", "backups are made again",
	)}
}

// Run makes backups until ctx ends. The keys belong to the database of the service.
func (s *Schedule) Run(ctx context.Context, keys *keystore.Keys) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		err := s.makeIfDue(ctx, keys)
		if ctx.Err() != nil {
			return nil
		}
		s.mu.Lock()
		s.failure = err
		s.mu.Unlock()
		s.failing.Report(ctx, err)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// makeIfDue makes a backup if the newest one is old enough.
func (s *Schedule) makeIfDue(ctx context.Context, keys *keystore.Keys) error {
	_, m, err := Newest(s.cfg.Backup)
	if err != nil && !errors.Is(err, ErrNoBackup) && !errors.Is(err, backup.ErrDamaged) {
		return err
	}
	if m != nil {
		s.made(m.Time)
		// A backup may come half of lookInterval early. Otherwise, with a backup every minute, the
		// next one could be just short of due at one look, and come only a minute later.
		if s.cfg.BackupEvery == 0 || time.Since(m.Time) < s.cfg.BackupEvery-lookInterval/2 {
			return nil
		}
	}
	if s.cfg.BackupEvery == 0 {
		return err
	}
	set, made, err := Make(ctx, Source{
		Events: s.cfg.Events, Keys: keys, SigningKey: s.cfg.SigningKey, Version: s.cfg.Version,
	}, s.cfg.Backup, s.cfg.BackupKeep)
	if errors.Is(err, backup.ErrBusy) {
		return nil // another process is making the backup
	}
	if err != nil {
		return err
	}
	s.made(made.Time)
	s.cfg.Logger.InfoContext(ctx, "backup made", slog.String("backup", set),
		slog.Uint64("events", made.Events), slog.Duration("took", made.Duration))
	return nil
}

func (s *Schedule) made(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = at
}

// Age returns how old the newest backup is, if there is one.
func (s *Schedule) Age() (age time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.newest), !s.newest.IsZero()
}

// State returns a line for a probe. It begins with "degraded" if the last attempt has failed or the
// newest backup is too old.
func (s *Schedule) State() string {
	age, known := s.Age()
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := "there is none yet"
	if known {
		newest = fmt.Sprintf(
			"the newest is of %s, %s ago", s.newest.UTC().Format(time.RFC3339),
			age.Round(time.Second),
		)
	}
	switch {
	case s.failure != nil:
		return "degraded: no backup can be made: " + s.failure.Error() + "; " + newest
	case known && s.cfg.BackupEvery > 0 && age > 2*s.cfg.BackupEvery+lookInterval:
		return "degraded: " + newest
	}
	return "ok: " + newest
}
