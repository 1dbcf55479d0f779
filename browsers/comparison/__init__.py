"""A page's capture is compared with its replay here: pictures, texts, and the weight of missing resources. Pure."""
