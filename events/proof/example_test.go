package proof_test

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/proof"
)

// An auditor keeps the public key and a signed head, and later compares the head with the log.
func ExampleSign() {
	private, public, err := proof.NewKey("sho.rt")
	if err != nil {
		panic(err)
	}
	treeOf := func(log ...string) tlog.Tree {
		var tree proof.Tree
		for _, event := range log {
			tree.Add(tlog.RecordHash([]byte(event)))
		}
		return tlog.Tree{N: tree.Size(), Hash: tree.Root()}
	}
	head, err := proof.Sign(treeOf("a link is created", "it is edited"), private)
	if err != nil {
		panic(err)
	}

	kept, err := proof.Heads([]byte(head.Signed), public)
	if err != nil {
		panic(err)
	}
	fmt.Println("the same log:", kept[0].Tree == treeOf("a link is created", "it is edited"))
	fmt.Println("an altered log:", kept[0].Tree == treeOf("a link is created", "it is deleted"))
	// Output:
	// the same log: true
	// an altered log: false
}
