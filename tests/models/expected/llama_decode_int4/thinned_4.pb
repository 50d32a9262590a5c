
Bpresent.1.valueJDRœº?÷C¾HïZ¿÷n¾AW¿‰Éƒ=¥`ñ»üÍ¸?—Ÿ½>2¦Û¿+„Ã¿ÚB¾hÑ¿3ƒ?‘¢¬¿Iÿk¾ëWy=