package faultydisk

// The process of a disk: a file system that passes calls on to a folder, or refuses them.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// argument is the first argument of the process of a disk. Its two folders follow.
const argument = "serve-a-faulty-disk"

// Serve serves a disk and ends the process if its arguments ask for a disk. Otherwise it returns.
func Serve() {
	if len(os.Args) != 4 || os.Args[1] != argument {
		return
	}
	if err := serve(os.Args[2], os.Args[3], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "faulty disk:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve mounts the disk and obeys the lines of standard input until it ends: each names a fault,
// and is answered with a line.
func serve(below, at string, answers io.Writer) error {
	root, err := fs.NewLoopbackRoot(below)
	if err != nil {
		return err
	}
	d := &disk{RawFileSystem: fs.NewNodeFS(root, &fs.Options{})}
	server, err := fuse.NewServer(d, at, &fuse.MountOptions{
		DirectMountStrict: true, FsName: "faulty", Name: "faulty", MaxWrite: 1 << 20,
		AllowOther: true, // PostgreSQL does not run as root
	})
	if err != nil {
		return err
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return err
	}
	defer func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) }()
	_, err = fmt.Fprintln(answers, "mounted")
	lines := bufio.NewScanner(os.Stdin)
	for err == nil && lines.Scan() {
		d.fault.Store(int32(faultNamed(lines.Text())))
		_, err = fmt.Fprintln(answers, "done")
	}
	return errors.Join(err, lines.Err())
}

// disk refuses calls as its fault says.
type disk struct {
	fuse.RawFileSystem

	fault atomic.Int32
}

// change returns the status of a call that would change the disk.
func (d *disk) change() fuse.Status {
	switch Fault(d.fault.Load()) { //nolint:exhaustive // the others let changes pass
	case InputOutput:
		return fuse.EIO
	case ReadOnly:
		return fuse.EROFS
	}
	return fuse.OK
}

// sync returns the status of a call that makes changes durable.
func (d *disk) sync() fuse.Status {
	if fault := Fault(d.fault.Load()); fault == InputOutput || fault == Syncs {
		return fuse.EIO
	}
	return fuse.OK
}

// Read implements fuse.RawFileSystem, as do all methods below.
func (d *disk) Read(
	cancel <-chan struct{}, in *fuse.ReadIn, buf []byte,
) (fuse.ReadResult, fuse.Status) {
	if fault := Fault(d.fault.Load()); fault == InputOutput || fault == Reads {
		return nil, fuse.EIO
	}
	return d.RawFileSystem.Read(cancel, in, buf)
}

func (d *disk) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	if s := d.change(); !s.Ok() {
		return 0, s
	}
	return d.RawFileSystem.Write(cancel, in, data)
}

func (d *disk) Writev(
	cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte,
) (uint32, fuse.Status) {
	if s := d.change(); !s.Ok() {
		return 0, s
	}
	return d.RawFileSystem.Writev(cancel, in, data)
}

func (d *disk) CopyFileRange(
	cancel <-chan struct{}, in *fuse.CopyFileRangeIn,
) (uint32, fuse.Status) {
	if s := d.change(); !s.Ok() {
		return 0, s
	}
	return d.RawFileSystem.CopyFileRange(cancel, in)
}

func (d *disk) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if s := d.sync(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Fsync(cancel, in)
}

func (d *disk) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if s := d.sync(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.FsyncDir(cancel, in)
}

func (d *disk) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if in.Flags&(syscall.O_WRONLY|syscall.O_RDWR) != 0 {
		if s := d.change(); !s.Ok() {
			return s
		}
	}
	return d.RawFileSystem.Open(cancel, in, out)
}

func (d *disk) Create(
	cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut,
) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Create(cancel, in, name, out)
}

func (d *disk) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.SetAttr(cancel, in, out)
}

func (d *disk) Mkdir(
	cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut,
) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Mkdir(cancel, in, name, out)
}

func (d *disk) Unlink(cancel <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Unlink(cancel, in, name)
}

func (d *disk) Rmdir(cancel <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Rmdir(cancel, in, name)
}

func (d *disk) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Rename(cancel, in, from, to)
}

func (d *disk) Link(
	cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut,
) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Link(cancel, in, name, out)
}

func (d *disk) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	if s := d.change(); !s.Ok() {
		return s
	}
	return d.RawFileSystem.Fallocate(cancel, in)
}
