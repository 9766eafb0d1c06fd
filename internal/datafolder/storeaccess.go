package datafolder

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/typed"
)

// The folder accessFolder in the data folder has what clients of dev's event store need: the
// password, and the certificate that they trust. Other users of the machine cannot read it.
const (
	accessFolder = "access"
	passwordFile = "password"
	caFile       = "ca.crt"
	serverFile   = "server.pem" // certificate and key of the server

	// StoreUser is the user name that dev's event store demands.
	StoreUser = "linkledger"
)

// StoreAccess gives clients access to the event store of dev. Every user of the machine can connect
// to its address, but only users who can read the data folder know the password. The store uses TLS
// because clients send passwords over TLS only.
type StoreAccess struct {
	folder   string // absolute
	Password secret.Text
	server   tls.Certificate
}

// OpenStoreAccess returns the access to the store of a data folder. The certificate is valid for
// the given names of the server. The first start creates password and certificate. A certificate
// that expires soon or lacks a name is replaced; the password stays.
func OpenStoreAccess(data string, names []string) (*StoreAccess, error) {
	folder, err := filepath.Abs(filepath.Join(data, accessFolder))
	if err != nil {
		return nil, usage.Errorf("cannot find the data folder: %w", err)
	}
	err = os.Chmod(folder, 0o700) //nolint:gosec // G302: a folder
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usage.Errorf(
			"cannot close the folder of the event store's password to other users: %w", err,
		)
	}
	a, err := loadStoreAccess(folder, names)
	if errors.Is(err, errInvalidCertificate) || errors.Is(err, fs.ErrNotExist) {
		if err = createStoreAccess(folder, names, exists); err == nil {
			a, err = loadStoreAccess(folder, nil)
		}
	}
	if err != nil {
		return nil, usage.Errorf(
			"cannot keep the password and the certificate of the event store in %s: %w", folder,
			err,
		)
	}
	return a, nil
}

// errInvalidCertificate means that clients would not accept the certificate.
var errInvalidCertificate = errors.New("its certificate does not fit")

func loadStoreAccess(folder string, names []string) (*StoreAccess, error) {
	password, err := readPassword(folder)
	if err != nil {
		return nil, err
	}
	server, err := os.ReadFile(filepath.Join(folder, serverFile))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(folder, caFile))
	if err != nil {
		return nil, err
	}
	certificate, err := readCertificate(server, ca, names)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalidCertificate, err)
	}
	return &StoreAccess{folder: folder, Password: password, server: certificate}, nil
}

// createStoreAccess creates the access folder, or replaces it. It keeps an existing password. The
// folder gets its name when it is complete, so that readers never find a part of it.
func createStoreAccess(folder string, names []string, replace bool) error {
	password, err := readPassword(folder)
	if errors.Is(err, fs.ErrNotExist) {
		password, err = secret.Text(rand.Text()), nil
	}
	if err != nil {
		return err
	}
	server, ca, err := newCertificate(names)
	if err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), accessFolder+".new-") // closed to other users
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // it no longer exists after the rename
	err = errors.Join(
		writeFile(filepath.Join(fresh, passwordFile), []byte(password+"\n")),
		writeFile(filepath.Join(fresh, serverFile), server),
		writeFile(filepath.Join(fresh, caFile), ca),
	)
	if err != nil {
		return err
	}
	if replace {
		previous := fresh + ".old"
		if err := os.Rename(folder, previous); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(previous) }() // unused from now on
	}
	// If the folder exists, another process was faster.
	if err := os.Rename(fresh, folder); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeFile creates a file that only this user can read, and syncs it.
func writeFile(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

func readPassword(folder string) (secret.Text, error) {
	content, err := os.ReadFile(filepath.Join(folder, passwordFile))
	if err != nil {
		return "", err
	}
	if password := secret.Text(typed.Trim(string(content))); password != "" {
		return password, nil
	}
	return "", fmt.Errorf("%s is empty: %w", passwordFile, fs.ErrNotExist)
}

// TLSConfig returns the TLS configuration of the server.
func (a *StoreAccess) TLSConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.server}, MinVersion: tls.VersionTLS12}
}

// URL returns the connection string for clients on this machine.
func (a *StoreAccess) URL(address string) secret.Connection {
	u := url.URL{
		Scheme: "esdb", User: url.UserPassword(StoreUser, string(a.Password)), Host: address,
		RawQuery: "tls=true&tlsCaFile=" + url.QueryEscape(filepath.Join(a.folder, caFile)),
	}
	return secret.Connection(u.String())
}

// PrintedStoreURL returns the connection string for a shell in the working folder of this process.
// The shell reads the password from its file, so that neither the screen nor a log shows it.
func PrintedStoreURL(data, address string) string {
	folder := data + "/" + accessFolder
	return `"esdb://` + StoreUser + ":$(cat " + folder + "/" + passwordFile + ")@" + address +
		"?tls=true&tlsCaFile=" + folder + "/" + caFile + `"`
}

// StoreNames returns the host names by which clients may reach a listener. address is the address
// that the listener was opened for.
func StoreNames(listener net.Listener, address string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	host, _, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return names
	}
	if net.ParseIP(host).IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return names
		}
	}
	asked, _, _ := net.SplitHostPort(address) // valid: it was listened on
	for _, name := range []string{host, asked} {
		// The zone of an address has a meaning on this machine only.
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "."), "%")
		if name != "" && !net.ParseIP(name).IsUnspecified() {
			names = append(names, name)
		}
	}
	return names
}
