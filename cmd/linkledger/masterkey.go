package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linkledger/commands/accounts"
	"linkledger/commands/streams"
	"linkledger/projections/readmodel"
)

// masterKeyFile has the master key of dev, in its data folder.
const masterKeyFile = "master.key"

// storedMasterKey reads the master key of a data folder; empty: there is none.
func storedMasterKey(folder string) (secret, error) {
	key, err := os.ReadFile(filepath.Join(folder, masterKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", usage("cannot read the master key: %w", err)
	}
	return secret(strings.TrimSpace(string(key))), nil
}

// devMasterKey returns the master key of a data folder, which is drawn at the first start.
func devMasterKey(folder string) (key secret, err error) {
	if key, err = storedMasterKey(folder); err != nil || key != "" {
		return key, err
	}
	drawn := make([]byte, readmodel.MasterKeySize)
	_, _ = rand.Read(drawn) // never fails
	key = secret(base64.StdEncoding.EncodeToString(drawn))
	file, err := os.OpenFile(filepath.Join(folder, masterKeyFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", usage("cannot write the master key: %w", err)
	}
	_, err = file.WriteString(string(key) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", usage("cannot write the master key: %w", err)
	}
	return key, nil
}

// explainedKey says what an operator can do about a master key that is missing or wrong.
func explainedKey(err error) error {
	if errors.Is(err, readmodel.ErrNoMasterKey) || errors.Is(err, readmodel.ErrOtherMasterKey) || errors.Is(err, accounts.ErrNothingSealed) {
		return usage("%w, with --master-key (%s)", err, envName("master-key"))
	}
	return err
}

// keysOnDemand opens the database when a key is asked for, which many an operator command never does.
type keysOnDemand struct{ of *place }

var _ streams.NoteKeys = keysOnDemand{}

func (k keysOnDemand) ask(ctx context.Context, question func(*readmodel.DB) error) error {
	if k.of.Database == "" {
		if err := k.of.locate(); err != nil {
			return err
		}
	}
	db, err := k.of.openReadModels(ctx, 1)
	if err != nil {
		return err
	}
	return errors.Join(question(db), db.Close())
}

// AccountKey implements commands.NoteKeys.
func (k keysOnDemand) AccountKey(ctx context.Context, account string) (key []byte, err error) {
	err = k.ask(ctx, func(db *readmodel.DB) (err error) { key, err = db.AccountKey(ctx, account); return err })
	return key, err
}

// MakeAccountKey implements commands.NoteKeys.
func (k keysOnDemand) MakeAccountKey(ctx context.Context, account string) (key []byte, err error) {
	err = k.ask(ctx, func(db *readmodel.DB) (err error) { key, err = db.MakeAccountKey(ctx, account); return err })
	return key, err
}

// EraseAccountKey implements commands.NoteKeys.
func (k keysOnDemand) EraseAccountKey(ctx context.Context, account string) error {
	return k.ask(ctx, func(db *readmodel.DB) error { return db.EraseAccountKey(ctx, account) })
}
