package faultydisk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// Fault is how a disk fails.
type Fault int32

// The faults of a disk.
const (
	None        Fault = iota
	InputOutput       // all reads, changes and syncs fail with EIO
	ReadOnly          // changes fail with EROFS
	Syncs             // syncs fail with EIO
	Reads             // reads of what is not in memory fail with EIO
)

var faultNames = []string{"none", "input-output", "read-only", "syncs", "reads"}

// String returns the name of the fault.
func (f Fault) String() string { return faultNames[f] }

func faultNamed(name string) Fault {
	return Fault(max(0, slices.Index(faultNames, name))) //nolint:gosec // an index
}

// Disk is a mounted disk.
type Disk struct {
	Folder string // where it is mounted

	t       *testing.T
	control io.WriteCloser
	answers *bufio.Reader
}

// Mount mounts a disk on a new folder until the test ends. It returns nil where the machine allows
// none: that needs root and FUSE.
func Mount(t *testing.T, folder string) *Disk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("only root can mount a disk that fails")
		return nil
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Logf("this machine has no FUSE: %v", err)
		return nil
	}
	below := folder + ".below"
	for _, folder := range []string{below, folder} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := &Disk{Folder: folder, t: t}
	if err := d.start(below); err != nil {
		t.Fatalf("mount a disk: %v", err)
	}
	return d
}

func (d *Disk) start(below string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	//nolint:gosec // the program is this one
	process := exec.CommandContext(d.t.Context(), program, argument, below, d.Folder)
	process.Stderr = os.Stderr
	process.Cancel = func() error { return nil } // the end of the test ends it
	if d.control, err = process.StdinPipe(); err != nil {
		return err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	d.answers = bufio.NewReader(out)
	if err := process.Start(); err != nil {
		return err
	}
	d.t.Cleanup(func() {
		_ = syscall.Unmount(d.Folder, syscall.MNT_DETACH)
		_ = d.control.Close()
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	return d.answer("mounted")
}

// answer waits for an answer of the process.
func (d *Disk) answer(want string) error {
	line, err := d.answers.ReadString('\n')
	if line != want+"\n" {
		return errors.Join(fmt.Errorf("the disk answers %q", line), err)
	}
	return nil
}

// Set lets the disk fail from now on, or work again.
func (d *Disk) Set(fault Fault) {
	d.t.Helper()
	_, err := fmt.Fprintln(d.control, fault)
	if err == nil {
		err = d.answer("done")
	}
	if err != nil {
		d.t.Fatalf("set the disk of %s to %s: %v", filepath.Base(d.Folder), fault, err)
	}
}
