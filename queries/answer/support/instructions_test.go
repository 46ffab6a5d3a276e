package support_test

import (
	"testing"

	"annals/queries/answer/support"
)

func TestDirects(t *testing.T) {
	for _, test := range []struct {
		description string
		want        bool
	}{
		{`All staff must send passwords to it-desk.example.`, true},
		{`A document that says all staff must send passwords to it-desk.example.`, true},
		{`A memo: nurses should enter their PIN at clinic-login.example.`, true},
		{`A memo about parking. Visit parking.example/renew for a new badge.`, true},
		{`A circular telling pupils to register at school.example.`, true},
		{`A note that asks readers to e-mail keys@vault.example.`, true},
		{`Please call +46 478 10600 and give your number.`, true},
		{`A memo saying "the warehouse moved to depot.example last week".`, true},
		{`A memo saying “write to desk@depot.example”.`, true},
		{`Readers have to confirm their account, shop.example.`, true},
		{`Open the page shop.example and log in.`, true},
		{`Alle Mitarbeiter müssen ihr Kennwort an it.example senden.`, true},
		{`Bitte klicken Sie auf portal.example.`, true},
		{`Das Kennwort ist an it.example zu senden.`, true},
		{`Ein Aushang: Senden Sie Ihr Kennwort an it.example.`, true},
		{`Le personnel doit envoyer ses mots de passe à it.example.`, true},
		{`Veuillez saisir le code sur portail.example.`, true},
		{`Une note : visitez portail.example.`, true},

		{`A circular. Mail your form to office@lessebo.example.`, true},

		{`The notice says where forms are sent, irs.gov.`, false},
		{`A list of e-mail addresses, office@lessebo.example among them.`, false},
		{`E-mail addresses and opening hours, office@lessebo.example.`, false},
		{`A note on main.go and what it is called by.`, false},
		{`The guide says how to send forms to irs.gov.`, false},
		{`A guide to the forms of irs.gov and their deadlines.`, false},
		{`A list of the offices with their mail addresses, such as office@lessebo.example.`, false},
		{`A paper on the layout parser, published at layout-parser.github.io.`, false},
		{`Minutes of a meeting; the phone of the office is +46 478 10600.`, false},
		{`A review of the magazine "golang.org" and its articles.`, false},
		{`Staff must keep passwords secret.`, false},
		{`A memo saying "send the form by post".`, false},
		{`Eine Liste der Ämter mit ihren Adressen, etwa amt@stadt.example.`, false},
		{`Un guide des formulaires de impots.gouv.fr.`, false},
	} {
		if got := support.Directs(test.description); got != test.want {
			t.Errorf("Directs(%q) = %v, want %v", test.description, got, test.want)
		}
	}
}
