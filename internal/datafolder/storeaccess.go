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
)

// The folder accessFolder in the data of dev has what clients of its event store need: the
// password, and the certificate that they trust. It is closed to other users of the machine.
const (
	accessFolder = "access"
	passwordFile = "password"
	caFile       = "ca.crt"
	serverFile   = "server.pem" // certificate and key of the server

	// StoreUser is the user name that dev's event store demands.
	StoreUser = "linkledger"
)

// StoreAccess is how clients get at the event store of dev. Every user of the machine can connect
// to its address, but only those who may read the data folder know the password. The password goes
// with TLS, because clients send it no other way.
type StoreAccess struct {
	folder   string // absolute
	Password secret.Text
	server   tls.Certificate
}

// OpenStoreAccess returns the access to the store of a data folder, under the names of the server
// that clients use. It is made at the first start. The certificate is made anew before it ends and
// where it lacks a name; the password stays.
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

// errInvalidCertificate says that clients would not take the certificate.
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

// createStoreAccess makes the folder, in the place of one that is of no use or where there is none.
// It appears under its name when it is complete.
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
	defer func() { _ = os.RemoveAll(fresh) }() // nothing is left of it when it has its name
	err = errors.Join(
		writeFile(filepath.Join(fresh, passwordFile), []byte(password+"\n")),
		writeFile(filepath.Join(fresh, serverFile), server),
		writeFile(filepath.Join(fresh, caFile), ca),
	)
	if err != nil {
		return err
	}
	if replace {
		former := fresh + ".old"
		if err := os.Rename(folder, former); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(former) }() // nothing reads it
	}
	// or another process was faster
	if err := os.Rename(fresh, folder); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeFile makes a file for this user alone, which is on the disk when it returns.
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
	if password := secret.Text(strings.TrimSpace(string(content))); password != "" {
		return password, nil
	}
	return "", fmt.Errorf("%s is empty: %w", passwordFile, fs.ErrNotExist)
}

// TLSConfig is for the server.
func (a *StoreAccess) TLSConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.server}, MinVersion: tls.VersionTLS12}
}

// URL is the connection string for clients on this machine.
func (a *StoreAccess) URL(address string) secret.Connection {
	u := url.URL{
		Scheme: "esdb", User: url.UserPassword(StoreUser, string(a.Password)), Host: address,
		RawQuery: "tls=true&tlsCaFile=" + url.QueryEscape(filepath.Join(a.folder, caFile)),
	}
	return secret.Connection(u.String())
}

// PrintedStoreURL is the connection string for a shell that is in the same folder as this process.
// The shell reads the password from its file, so that neither the screen nor a log has it.
func PrintedStoreURL(data, address string) string {
	folder := data + "/" + accessFolder
	return `"esdb://` + StoreUser + ":$(cat " + folder + "/" + passwordFile + ")@" + address +
		"?tls=true&tlsCaFile=" + folder + "/" + caFile + `"`
}

// StoreNames are the names under which clients know a listener that was asked for by an address.
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
	asked, _, _ := net.SplitHostPort(address) // it is listened on already
	for _, name := range []string{host, asked} {
		// the zone of an address is of this machine alone
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "."), "%")
		if name != "" && !net.ParseIP(name).IsUnspecified() {
			names = append(names, name)
		}
	}
	return names
}
