"""Splitting texts in many languages into words."""

import pytest

from mmerg.storage.words import is_distinctive, normalize_words, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I’m FINE, isn't it?", "i'm fine isn't it"),
        ("我很好。2023年 OK！", "我 很 好 2023 年 ok"),
        ("コーヒーを飲む", "コ ー ヒ ー を 飲 む"),
        ("ไม่ดี", "ไ ม่ ดี"),
        ("हिन्दी में", "हिन्दी में"),
        ("정말 힘들었겠다", "정말 힘들었겠다"),
        ("أَنَا آســفٌ", "أنا آسف"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_a_text_is_split_as_its_language_requires(text: str, words: str) -> None:
    assert split_words(text) == words.split()


@pytest.mark.parametrize(
    ("text", "distinctive"),
    [
        ("I lost it in", False),
        ("I lost it in the", True),
        ("我很抱歉听到", True),
        ("谢谢你", False),
        ("정말 힘들었겠다, 무슨 일이야?", True),
        ("고마워요", False),
    ],
)
def test_a_long_text_is_distinctive(text: str, distinctive: bool) -> None:
    assert is_distinctive(text) is distinctive


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("Yeah.", "yeah", True),
        ("It's   OK!", "Its ok", True),
        ("STRASSE", "straße", True),
        ("?!", "?!", True),
        ("?!", "...", False),
        ("No.", "Not.", False),
        ("[LAUGHTER] That is great.", "That is great.", True),
        ("[laughter]", "[LAUGHTER]", True),
        ("[laughter]", "[breathing]", False),
        ("Bread &amp; butter, &quot;please&quot;", 'bread & butter "please"', True),
        ("a &lt;b", "a b", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("CAFE\u0301", "caf\u00e9", True),
        ("caf\u00e9, \u0451\u0439", "cafe \u0435\u0438", True),
        ("Tôi đã mất việc hôm nay", "Toi da mat viec hom nay", True),
        ("don`t, l´ami, ﾀﾞﾒ", "dont lami ダメ", True),
        ("はは", "ばば", False),
        ("\u0915\u093f", "\u0915\u0940", False),  # two syllables of Hindi that differ only in their marks
        ("\uff39\uff45\uff53 \ufb01ne", "yes fine", True),
        ("Yes \u2764\ufe0f", "yes", True),
        ("\u0130", "i\u0307", True),
    ],
)
def test_texts_with_the_same_words_are_equal(first: str, second: str, equal: bool) -> None:
    assert (normalize_words(first) == normalize_words(second)) is equal
