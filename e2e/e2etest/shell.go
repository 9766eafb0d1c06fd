// This file runs what documents and greetings say, as a user would.

package e2etest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ReadmeBlock matches the lines for a shell in a document.
var ReadmeBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// Shell runs lines as a user would paste them into a terminal, and returns their output. If the
// machine has no curl, this test binary replaces it.
func Shell(t *testing.T, lines string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euc", strings.ReplaceAll(lines, "curl ", "curl -sS "))
	command.Env = os.Environ()
	if _, err := exec.LookPath("curl"); err != nil {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		if err := os.Symlink(self, filepath.Join(folder, "curl")); err != nil {
			t.Fatal(err)
		}
		command.Env = append(command.Env, "PATH="+folder+":"+os.Getenv("PATH"))
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}

// curl implements the flags of curl that the greeting uses.
func curl(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("curl", flag.ContinueOnError)
	flags.Bool("sS", false, "")
	withHeader := flags.Bool("i", false, "")
	user, method, body := flags.String("u", "", ""), flags.String("X", "", ""), flags.String("d", "", "")
	header, agent := flags.String("H", "", ""), flags.String("A", "curl/8.5.0", "")
	var target string
	for len(args) > 0 { // the URL may stand between the flags
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			target, args = args[0], args[1:]
		}
	}
	if *method == "" {
		*method = http.MethodGet
		if *body != "" {
			*method = http.MethodPost
		}
	}
	request, err := http.NewRequest(*method, target, strings.NewReader(*body))
	if err != nil {
		return err
	}
	if name, password, ok := strings.Cut(*user, ":"); ok {
		request.SetBasicAuth(name, password)
	}
	request.Header.Set("User-Agent", *agent)
	if name, value, ok := strings.Cut(*header, ": "); ok {
		request.Header.Set(name, value)
	}
	response, err := NoRedirects.Do(request)
	if err != nil {
		return err
	}
	if *withHeader {
		if _, err := fmt.Fprintln(out, response.Proto, response.Status); err != nil {
			return err
		}
		err = response.Header.Write(out)
	}
	_, copyErr := io.Copy(out, response.Body)
	return errors.Join(err, copyErr, response.Body.Close())
}
