package main

import (
	"context"

	"linkledger/internal/attestation"
	"linkledger/internal/installation"
	"linkledger/internal/secret"
)

// auditKey makes a key that signs heads.
type auditKey struct {
	File string `arg:"" help:"File to write the private key to. It must not exist."`
	Name string `help:"Name of the key, which appears in heads, such as the host of the short links." default:"linkledger"`
}

// Run implements the command.
func (c *auditKey) Run(p *process) error {
	return attestation.NewKey(c.File, c.Name, p.Stdout)
}

// signing is the key that signs heads.
type signing struct {
	SigningKey secret.Text `help:"Private key that signs heads, from audit key. Give it as a file, by LINKLEDGER_SIGNING_KEY_FILE." placeholder:"KEY"`
}

// trusted is the key that heads are believed by.
type trusted struct {
	PublicKey string `help:"Public key of the heads, as audit key prints it." placeholder:"KEY"`
}

// auditCheckpoint prints the signed head of the log.
type auditCheckpoint struct {
	installation.Installation
	signing
}

// Run implements the command.
func (c *auditCheckpoint) Run(ctx context.Context, p *process) error {
	return attestation.Checkpoint(ctx, operator(&c.Installation, p), c.SigningKey)
}

// auditProve prints proofs.
type auditProve struct {
	installation.Installation
	signing
	trusted
	Hash       string   `arg:"" optional:"" help:"Hash of a link. The events of all links that ever used it are proved, without clicks."`
	Checkpoint string   `help:"File of signed heads. The proofs rest on the last one. By default a new head is signed." placeholder:"FILE" type:"existingfile"`
	Since      []string `help:"Files of older heads. The proofs show that the log continues them." placeholder:"FILE" type:"existingfile"`
}

// Run implements the command.
func (c *auditProve) Run(ctx context.Context, p *process) error {
	return attestation.Prove(ctx, operator(&c.Installation, p), attestation.ProofRequest{
		Hash: c.Hash, Checkpoint: c.Checkpoint, Since: c.Since, SigningKey: c.SigningKey,
		PublicKey: c.PublicKey,
	})
}

// auditVerifyProof verifies a file of proofs.
type auditVerifyProof struct {
	trusted
	File string `arg:"" help:"File that audit prove printed." type:"existingfile"`
}

// Run implements the command.
func (c *auditVerifyProof) Run(p *process) error {
	return attestation.VerifyProof(c.File, c.PublicKey, p.Stdout)
}

// auditVerify holds the log against its tree and against signed heads.
type auditVerify struct {
	operatorFlags
	trusted
	Checkpoint []string `help:"Files of signed heads that were kept elsewhere, with one or more heads each." placeholder:"FILE" type:"existingfile"`
}

// Run implements the command.
func (c *auditVerify) Run(ctx context.Context, p *process) error {
	return attestation.Verify(ctx, c.by(p), c.Checkpoint, c.PublicKey)
}
