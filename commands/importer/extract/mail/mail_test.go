package mail_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

const head = "From: =?utf-8?q?Ren=C3=A9?= <r@example.org>\r\nTo: a@example.org,\r\n b@example.org\r\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?= to all\r\nDate: Mon, 23 Nov 2026 08:00:00 +0100\r\n"

func TestMessages(t *testing.T) {
	const fields = "- From: René <r@example.org>\n- To: a@example.org, b@example.org\n- Date: Mon, 23 Nov 2026 08:00:00 +0100\n\n"
	for name, c := range map[string]struct{ content, want string }{
		"plain":            {head + "\r\nHello,\r\nworld.\r\n> quoted\r\n", "Hello,\nworld.\n> quoted"},
		"mailbox":          {"From r@example.org Mon Nov 23\r\n" + head + "\r\nHello", "Hello"},
		"quoted-printable": {head + "Content-Type: text/plain; charset=iso-8859-2\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nDvo=F8=E1k=\r\n!", "Dvořák!"},
		"base64":           {head + "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte("Größe"))[:4] + " \r\n" + base64.StdEncoding.EncodeToString([]byte("Größe"))[4:], "Größe"},
		"Japanese":         {head + "Content-Type: text/plain; charset=iso-2022-jp\r\n\r\n\x1b$BF|K\\\x1b(B", "日本"},
		"wrong charset":    {head + "Content-Type: text/plain; charset=us-ascii\r\n\r\nGröße", "Größe"},
		"flowed":           {head + "Content-Type: text/plain; format=flowed\r\n\r\nOne \r\nline.\r\nTwo.\r\n-- \r\nname", "One line.\nTwo.\n-- \nname"},
		"HTML":             {head + "Content-Type: text/html; charset=utf-8\r\n\r\n<style>x</style><h1>T</h1><p>a <b>b</b><table><tr><td>1<td>2</table>", "# T\n\na b\n\n| 1 | 2 |\n| --- | --- |"},
		"alternatives":     {multi("alternative", part("text/plain", "plain"), part("text/html", "<p>rich</p>")), "rich"},
		"only plain":       {multi("alternative", part("text/plain", "plain"), part("text/html", "<p> </p>")), "plain"},
		"attachments":      {multi("mixed", part("text/plain", "body"), part("application/pdf; name=\"a b.pdf\"", "x"), part("text/plain\r\nContent-Disposition: attachment; filename*=utf-8''%C3%BC.txt", "secret"), part("image/png\r\nContent-ID: <x>", "y"), part("text/plain", "more")), "body\n\nmore\n\nAttachments: a b.pdf, ü.txt"},
		"nested":           {multi("mixed", strings.TrimSuffix(strings.TrimPrefix(multi("alternative", part("text/plain", "inner")), head), "")), "inner"},
		"damaged":          {strings.TrimSuffix(multi("mixed", part("text/plain", "body")), "--b--\r\n"), "body"},
	} {
		got, info, err := extracttest.Read(t, "a.eml", []byte(c.content))
		if err != nil || len(got) != 1 || got[0].Text != fields+c.want || got[0].Title != "Grüße to all" || info.Title != "Grüße to all" || info.MediaType != extract.Mail {
			t.Errorf("%s: %+v, %+v, %v, want %q", name, got, info, err, fields+c.want)
		}
	}
}

func multi(kind string, parts ...string) string {
	return head + "Content-Type: multipart/" + kind + "; boundary=b\r\n\r\n--b\r\n" + strings.Join(parts, "\r\n--b\r\n") + "\r\n--b--\r\n"
}

func part(kind, body string) string { return "Content-Type: " + kind + "\r\n\r\n" + body }

func TestMessageInMessage(t *testing.T) {
	got, _, err := extracttest.Read(t, "a.eml", []byte(multi("mixed", part("text/plain", "see below"), part("message/rfc822", "Subject: Inner\r\nFrom: x@y\r\n\r\nThe inner text."))))
	if err != nil || len(got) != 2 || got[1].Title != "Inner" || got[1].Level != 2 || got[1].Text != "- From: x@y\n\nThe inner text." {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestUnreadableMessages(t *testing.T) {
	for name, content := range map[string]string{
		"no header":   "\r\ntext",
		"binary":      "\x01\x02\x03\r\n",
		"long header": "Subject: " + strings.Repeat("x", 2<<20) + "\r\n\r\ntext",
		"deep":        strings.Repeat("Content-Type: message/rfc822\r\n\r\n", 100) + "x",
		"parts":       multi("mixed", strings.Split(strings.Repeat(part("text/x", "y")+"\x00", 6_000), "\x00")...),
	} {
		begun := time.Now()
		if _, _, err := extracttest.Read(t, "a.eml", []byte(content)); !fault.Is(err, fault.Invalid) || time.Since(begun) > time.Minute {
			t.Errorf("%s: %v after %v, want invalid", name, err, time.Since(begun))
		}
	}
	_, info, err := extracttest.Read(t, "a.eml", []byte(head+"Content-Type: application/pkcs7-mime; name=smime.p7m\r\n\r\nx"))
	if err != nil || len(info.Warnings) != 1 || !strings.Contains(info.Warnings[0], "encrypted") {
		t.Errorf("an encrypted message: %+v, %v", info, err)
	}
}

func FuzzMail(f *testing.F) {
	f.Add([]byte(multi("alternative", part("text/plain", "a"), part("text/html; charset=utf-16", "<p>b"))))
	f.Add([]byte(multi("mixed", part("message/rfc822", head+"\r\nx"), part("image/png\r\nContent-Transfer-Encoding: base64", "AAAA"))))
	f.Add([]byte("Subject: =?x?b?YQ==?=\nContent-Transfer-Encoding: quoted-printable\n\n=\n=4"))
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		begun := time.Now()
		got, info, err := extracttest.ReadBy(t, r, path, "a.eml", content)
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%d bytes took %v", len(content), took)
		}
		extracttest.CheckSections(t, got, info, err)
	})
}
