package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
