
ByJ¦IJ¿cvnÀî“yÀxWÁ