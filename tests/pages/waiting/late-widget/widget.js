proof.add('278x20-widget.png', w)
