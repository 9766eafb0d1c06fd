package dev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"linkledger/internal/config"
	"linkledger/internal/datafolder"
	"linkledger/internal/pgserver"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/waiting"
)

// startDatabase starts the private PostgreSQL. If the installed version cannot read the database of
// an earlier version, startDatabase makes a new database. The service then loads the keys from
// their copy, and builds the read models from the log.
func (c Config) startDatabase(
	ctx context.Context, key secret.Text, logger *slog.Logger,
) (database *pgserver.Server, err error) {
	master, err := config.Sealing{MasterKey: key}.Keys()
	if err != nil {
		return nil, usage.Wrap(err)
	}
	keys, err := datafolder.KeysFolder(c.Data)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(c.Data, "postgres")
	if _, err := os.Lstat(filepath.Join(folder, "cluster")); errors.Is(err, os.ErrNotExist) {
		if err := datafolder.BeginBuild(c.Data); err != nil {
			return nil, err
		}
	}
	var former, version int
	err = waiting.During(ctx, "start of PostgreSQL", nil, func(ctx context.Context) (err error) {
		database, err = pgserver.Start(ctx, pgserver.Config{
			Dir: folder, BinDir: c.PostgresBin, Logger: logger, Restart: true,
			Settings: map[string]string{keystore.CopySetting: keys},
			Replace: func(made, with int) error {
				former, version = made, with
				copied := keyfile.OpenCopy(keys, master)
				if err := checkReplaceable(copied, keys, made); err != nil {
					return err
				}
				return datafolder.BeginBuild(c.Data)
			},
		})
		return err
	})
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if aside := database.SetAside(); aside != "" {
		logger.InfoContext(
			ctx, "this PostgreSQL cannot read the database, which another version has made: a "+
				"new database is made, and the folder of the former one is set aside; delete "+
				"that folder when the service works",
			slog.Int("former", former), slog.Int("version", version), slog.String("folder", aside),
		)
	}
	// At the first start there is nothing to build, and no copy.
	if _, err := os.Lstat(keys); err == nil && datafolder.Building(c.Data) {
		logger.InfoContext(
			ctx, "the read models are built from the log, and requests wait until they are "+
				"complete",
		)
	}
	return database, nil
}

// checkReplaceable refuses to set aside a database whose keys exist nowhere else.
func checkReplaceable(copied *keyfile.Copy, folder string, made int) error {
	err := copied.Check()
	if errors.Is(err, keyfile.ErrNoCopy) {
		return fmt.Errorf("no other version of PostgreSQL can take over this database, because "+
			"its keys have no copy in %s yet: install PostgreSQL %d beside the new one, from "+
			"https://apt.postgresql.org, or the package of Debian from "+
			"https://snapshot.debian.org; then start linkledger dev once with --postgres-bin "+
			"/usr/lib/postgresql/%d/bin (%s), which makes the copy; from then on any version of "+
			"PostgreSQL can take over",
			folder, made, made, usage.Env("postgres-bin"))
	}
	if err != nil {
		return fmt.Errorf("no other version of PostgreSQL can take over this database, because "+
			"the copy of its keys cannot be used: %w", err)
	}
	return nil
}
