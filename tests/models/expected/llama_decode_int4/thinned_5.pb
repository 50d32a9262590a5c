
Bpresent.2.keyJDnJ•¾Ò(ð¾ÓU¾ÐI¿?WÀÊ¾;v»¾ì¯:?Lîo?¶.³?a Õ¿…4Ë>AFx½Ê+O?ð/?¿SãF?]¾l¿ÚŠ±¾