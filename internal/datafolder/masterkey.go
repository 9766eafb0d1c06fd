package datafolder

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections/keystore"
)

// masterKeyFile is the name of the file with the master key of dev.
const masterKeyFile = "master.key"

// StoredMasterKey returns the master key in a data folder. It is empty if there is none.
func StoredMasterKey(folder string) (secret.Text, error) {
	key, err := os.ReadFile(filepath.Join(folder, masterKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", usage.Errorf("cannot read the master key: %w", err)
	}
	return secret.Text(strings.TrimSpace(string(key))), nil
}

// MasterKey returns the master key in a data folder. At the first start it generates one.
func MasterKey(folder string) (key secret.Text, err error) {
	if key, err = StoredMasterKey(folder); err != nil || key != "" {
		return key, err
	}
	random := make([]byte, keystore.MasterKeySize)
	_, _ = rand.Read(random) // never fails
	key = secret.Text(base64.StdEncoding.EncodeToString(random))
	file, err := os.OpenFile(
		filepath.Join(folder, masterKeyFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600,
	)
	if err != nil {
		return "", usage.Errorf("cannot write the master key: %w", err)
	}
	_, err = file.WriteString(string(key) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", usage.Errorf("cannot write the master key: %w", err)
	}
	return key, nil
}
