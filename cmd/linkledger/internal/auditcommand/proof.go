package auditcommand

import (
	"context"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/attestation"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
)

// auditKey makes a key that signs heads.
type auditKey struct {
	File string `arg:"" help:"File to write the private key to. It must not exist."`
	Name string `help:"${key_name}" default:"linkledger"`
}

// Run writes a new signing key to the file and prints its public half.
func (c *auditKey) Run(p *command.Process) error {
	return attestation.NewKey(c.File, c.Name, p.Stdout)
}

// signing has the flag of the key that signs heads.
type signing struct {
	SigningKey secret.Text `help:"${signing_key}" placeholder:"KEY"`
}

// trusted has the flag of the public key that verifies heads.
type trusted struct {
	PublicKey string `help:"Public key of the heads, printed by: audit key." placeholder:"KEY"`
}

// auditCheckpoint prints the signed head of the log.
type auditCheckpoint struct {
	installation.Installation
	signing
}

// Run prints the signed head of the log.
func (c *auditCheckpoint) Run(ctx context.Context, p *command.Process) error {
	return attestation.Checkpoint(ctx, command.Operator(&c.Installation, p), c.SigningKey)
}

type auditProve struct {
	installation.Installation
	signing
	trusted
	Hash       string   `arg:"" optional:"" help:"${proven_hash}"`
	Checkpoint string   `help:"${checkpoint}" placeholder:"FILE" type:"existingfile"`
	Since      []string `help:"${since}" placeholder:"FILE" type:"existingfile"`
}

// Run prints the proofs of the events of a link, and the proof that the log continues older heads.
func (c *auditProve) Run(ctx context.Context, p *command.Process) error {
	return attestation.Prove(ctx, command.Operator(&c.Installation, p), attestation.ProofRequest{
		Hash: c.Hash, Checkpoint: c.Checkpoint, Since: c.Since, SigningKey: c.SigningKey,
		PublicKey: c.PublicKey,
	})
}

type auditVerifyProof struct {
	trusted
	File string `arg:"" help:"File that audit prove printed." type:"existingfile"`
}

// Run prints what the file proves. It fails if a proof is wrong.
func (c *auditVerifyProof) Run(p *command.Process) error {
	return attestation.VerifyProof(c.File, c.PublicKey, p.Stdout)
}

// auditVerify compares the log with its tree and with signed heads.
type auditVerify struct {
	command.OperatorFlags
	trusted
	Checkpoint []string `help:"${checkpoints}" placeholder:"FILE" type:"existingfile"`
}

// Run prints the first event that differs from the tree or from a signed head, and then fails.
func (c *auditVerify) Run(ctx context.Context, p *command.Process) error {
	return attestation.Verify(ctx, c.By(p), c.Checkpoint, c.PublicKey)
}
