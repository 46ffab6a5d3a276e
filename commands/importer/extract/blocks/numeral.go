package blocks

import (
	"strconv"
	"strings"
)

// Numeral formats n as Word displays it; format is the name of a format of Office Open XML, such as
// "lowerRoman". Unknown formats are in digits.
func Numeral(n int, format string) string {
	digits := strconv.Itoa(n)
	switch format {
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperRoman":
		return roman(n)
	case "lowerLetter":
		return letters(n, []rune("abcdefghijklmnopqrstuvwxyz"))
	case "upperLetter":
		return letters(n, []rune("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	case "russianLower":
		return letters(n, []rune("абвгдежзиклмнопрстуфхцчшщыэюя"))
	case "russianUpper":
		return letters(n, []rune("АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ"))
	case "hebrew1":
		return hebrew(n)
	case "arabicAbjad":
		return letters(n, []rune("أبجدهوزحطيكلمنسعفصقرشتثخذضظغ"))
	case "hebrew2":
		return letters(n, []rune("אבגדהוזחטיכלמנסעפצקרשת"))
	case "arabicAlpha":
		return letters(n, []rune("أبتثجحخدذرزسشصضطظعغفقكلمنهوي"))
	case "ganada":
		return letters(n, []rune("가나다라마바사아자차카타파하"))
	case "aiueo", "aiueoFullWidth":
		return letters(n, []rune("アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"))
	case "iroha", "irohaFullWidth":
		return letters(n, []rune("イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"))
	case "decimalEnclosedCircle", "decimalEnclosedCircleChinese":
		if n >= 1 && n <= 20 {
			return string(rune('①' + n - 1))
		}
	case "decimalEnclosedParen":
		return "(" + digits + ")"
	case "decimalEnclosedFullstop":
		return digits + "."
	case "numberInDash":
		return "- " + digits + " -"
	case "decimalFullWidth", "decimalFullWidth2":
		return strings.Map(func(r rune) rune { return r - '0' + '０' }, digits)
	case "chineseCounting", "chineseCountingThousand", "ideographDigital", "japaneseCounting", "taiwaneseCounting", "taiwaneseCountingThousand", "japaneseDigitalTenThousand":
		return chinese(n)
	case "ordinal":
		return digits + ordinalEnd(n)
	case "decimalZero":
		if n >= 0 && n < 10 {
			return "0" + digits
		}
	case "none", "bullet":
		return ""
	}
	return digits
}

// ordinalEnd returns the end of an English ordinal number, such as "st".
func ordinalEnd(n int) string {
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			return "st"
		case 2:
			return "nd"
		case 3:
			return "rd"
		}
	}
	return "th"
}

// chinese formats the numbers below 100 in Chinese numerals.
func chinese(n int) string {
	if n <= 0 || n > 99 {
		return strconv.Itoa(n)
	}
	numerals := []string{"", "一", "二", "三", "四", "五", "六", "七", "八", "九"}
	if n < 10 {
		return numerals[n]
	}
	tens := numerals[n/10]
	if n < 20 {
		tens = ""
	}
	return tens + "十" + numerals[n%10]
}

func roman(n int) string {
	if n <= 0 || n > 3999 {
		return strconv.Itoa(n)
	}
	var out strings.Builder
	for _, r := range []struct {
		value int
		text  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= r.value; n -= r.value {
			out.WriteString(r.text)
		}
	}
	return out.String()
}

// hebrew formats n as the sum of its letters. For 15 and 16, others are taken, because the usual ones
// are a part of God's name.
func hebrew(n int) string {
	if n <= 0 || n > 999 {
		return strconv.Itoa(n)
	}
	hundreds := []string{"", "ק", "ר", "ש", "ת", "תק", "תר", "תש", "תת", "תתק"}
	tens := []string{"", "י", "כ", "ל", "מ", "נ", "ס", "ע", "פ", "צ"}
	ones := []string{"", "א", "ב", "ג", "ד", "ה", "ו", "ז", "ח", "ט"}
	switch rest := n % 100; rest {
	case 15, 16:
		return hundreds[n/100] + "ט" + ones[rest-9]
	default:
		return hundreds[n/100] + tens[rest/10] + ones[rest%10]
	}
}

// letters formats n as a … z, aa … zz, aaa …, as Word does.
func letters(n int, alphabet []rune) string {
	if n <= 0 || n > 32*len(alphabet) {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(alphabet[(n-1)%len(alphabet)]), (n-1)/len(alphabet)+1)
}
