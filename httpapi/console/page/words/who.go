package words

// This file has the words for who has done something: names, and no ids.

import "linkledger/httpapi/contract"

// actorOf returns who caused an event, made a call or has signed in. of is a contract.Actor, a
// contract.Activity or a contract.Session.
func actorOf(of any) contract.Actor {
	switch of := of.(type) {
	case contract.Actor:
		return of
	case *contract.Activity:
		return actorOf(*of)
	case contract.Activity:
		made := contract.Actor{Key: of.Key, KeyName: of.KeyName, UserName: of.UserName}
		if of.User != nil {
			made.User = *of.User
		}
		return made
	case contract.Session:
		return contract.Actor{
			Key: of.Key, KeyName: of.KeyName, User: of.User, UserName: of.UserName,
		}
	}
	return contract.Actor{}
}

// Who returns who caused an event, made a call or has signed in, for people. of is a
// contract.Actor, a contract.Activity or a contract.Session.
func Who(of any) string {
	a := actorOf(of)
	switch {
	case a.Kind == "operator":
		return "an operator"
	case a.Kind == "foreign":
		return "another account"
	case a.UserName != "":
		return a.UserName
	case a.User != "":
		return "a person without a name"
	case a.KeyName != "":
		return "key " + a.KeyName
	case a.Key != "":
		return "a key without a name"
	}
	return "the account" // as older versions recorded it
}

// KnownBy returns the id of the actor that Who names, or "" if the actor has no id. The id
// distinguishes actors that have the same name or none.
func KnownBy(of any) string {
	a := actorOf(of)
	if a.User != "" {
		return "person " + a.User
	}
	if a.Key != "" {
		return "key " + a.Key
	}
	return ""
}
