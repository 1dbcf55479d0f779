"""Collections and captures are described, reviewed, put under embargo and excluded here."""
