package datafolder

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"linkledger/events/proof"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections/keystore/keyfile"
	"linkledger/typed"
)

// masterKeyFile is the name of the file with the master key of dev.
const masterKeyFile = "master.key"

// signingKeyFile is the name of the file with the key with which dev signs heads of the log.
const signingKeyFile = "signing.key"

// keysFolder is the name of the folder with the copy of what the log cannot rebuild, such as
// the keys of accounts and people, secrets and sessions.
const keysFolder = "keys"

// KeysFolder returns the absolute path of the folder keysFolder in a data folder.
func KeysFolder(folder string) (string, error) {
	path, err := filepath.Abs(filepath.Join(folder, keysFolder))
	if err != nil {
		return "", usage.Errorf("cannot find the data folder: %w", err)
	}
	return path, nil
}

// StoredMasterKey returns the master key in a data folder. It is empty if there is none.
func StoredMasterKey(folder string) (secret.Text, error) { return stored(folder, masterKeyFile) }

// MasterKey returns the master key in a data folder. At the first start it generates one.
func MasterKey(folder string) (secret.Text, error) {
	return storedOrNew(folder, masterKeyFile, func() (string, error) {
		random := make([]byte, keyfile.MasterKeySize)
		_, _ = rand.Read(random) // never fails
		return base64.StdEncoding.EncodeToString(random), nil
	})
}

// SigningKey returns the key in a data folder that signs heads of the log. At the first start it
// generates one.
func SigningKey(folder string) (secret.Text, error) {
	return storedOrNew(folder, signingKeyFile, func() (string, error) {
		private, _, err := proof.NewKey("linkledger-dev")
		return private, err
	})
}

// stored returns the key in a file of the folder, or an empty one if there is no file.
func stored(folder, file string) (secret.Text, error) {
	key, err := os.ReadFile(filepath.Join(folder, file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", usage.Errorf("cannot read the key %s: %w", file, err)
	}
	return secret.Text(typed.Trim(string(key))), nil
}

// storedOrNew is like stored. If there is no key, it generates one and writes it to the file.
func storedOrNew(
	folder, name string, generate func() (string, error),
) (key secret.Text, err error) {
	if key, err = stored(folder, name); err != nil || key != "" {
		return key, err
	}
	generated, err := generate()
	if err != nil {
		return "", err
	}
	return secret.Text(generated), save(folder, name, generated)
}

// save writes a key to a new file of the folder.
func save(folder, name, key string) error {
	if err := writeFile(filepath.Join(folder, name), []byte(key+"\n")); err != nil {
		return usage.Errorf("cannot write the key %s: %w", name, err)
	}
	return nil
}

// SaveMasterKey writes the master key to a new data folder.
func SaveMasterKey(folder string, key secret.Text) error {
	return save(folder, masterKeyFile, string(key))
}

// SaveSigningKey writes the key that signs heads of the log to a new data folder.
func SaveSigningKey(folder, key string) error { return save(folder, signingKeyFile, key) }

// StoredSigningKey returns the key in a data folder that signs heads of the log. It is empty if
// there is none.
func StoredSigningKey(folder string) (secret.Text, error) { return stored(folder, signingKeyFile) }
